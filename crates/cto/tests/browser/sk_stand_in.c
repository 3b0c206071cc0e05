// Stand-in for a security key: a provider for ssh-sk-helper whose keys are made in software and whose user always touches.
// The key handle is the seed itself, so the provider keeps nothing. For tests alone.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The parts of libcrypto's and OpenSSH's interfaces that are used, so that no headers are needed.
#define ED25519 1087
typedef struct evp_pkey_st EVP_PKEY;
typedef struct evp_md_ctx_st EVP_MD_CTX;
EVP_PKEY *EVP_PKEY_new_raw_private_key(int, void *, const unsigned char *, size_t);
int EVP_PKEY_get_raw_public_key(const EVP_PKEY *, unsigned char *, size_t *);
void EVP_PKEY_free(EVP_PKEY *);
EVP_MD_CTX *EVP_MD_CTX_new(void);
void EVP_MD_CTX_free(EVP_MD_CTX *);
int EVP_DigestSignInit(EVP_MD_CTX *, void *, const void *, void *, EVP_PKEY *);
int EVP_DigestSign(EVP_MD_CTX *, unsigned char *, size_t *, const unsigned char *, size_t);
unsigned char *SHA256(const unsigned char *, size_t, unsigned char *);
int RAND_bytes(unsigned char *, int);

#define API_VERSION 0x000a0000
#define ALG_ED25519 1
#define TOUCHED 1
#define ERR_GENERAL (-1)
#define ERR_UNSUPPORTED (-2)
#define SEED 32
#define SIGNATURE 64

struct sk_option;
struct sk_enroll_response {
    uint8_t flags;
    uint8_t *public_key; size_t public_key_len;
    uint8_t *key_handle; size_t key_handle_len;
    uint8_t *signature; size_t signature_len;
    uint8_t *attestation_cert; size_t attestation_cert_len;
    uint8_t *authdata; size_t authdata_len;
};
struct sk_sign_response {
    uint8_t flags;
    uint32_t counter;
    uint8_t *sig_r; size_t sig_r_len;
    uint8_t *sig_s; size_t sig_s_len;
};
struct sk_resident_key;

uint32_t sk_api_version(void) { return API_VERSION; }

static uint8_t *copy(const uint8_t *bytes, size_t len) {
    uint8_t *made = malloc(len);
    if (made) memcpy(made, bytes, len);
    return made;
}

int sk_enroll(uint32_t alg, const uint8_t *challenge, size_t challenge_len, const char *application, uint8_t flags, const char *pin,
              struct sk_option **options, struct sk_enroll_response **response) {
    (void)challenge; (void)challenge_len; (void)application; (void)pin; (void)options;
    if (alg != ALG_ED25519) return ERR_UNSUPPORTED;
    uint8_t seed[SEED], public[SEED];
    size_t len = sizeof public;
    if (RAND_bytes(seed, sizeof seed) != 1) return ERR_GENERAL;
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(ED25519, NULL, seed, sizeof seed);
    int is_made = key && EVP_PKEY_get_raw_public_key(key, public, &len) == 1;
    EVP_PKEY_free(key);
    struct sk_enroll_response *made = calloc(1, sizeof *made);
    if (!is_made || !made) return ERR_GENERAL;
    made->flags = flags;
    made->public_key = copy(public, sizeof public);
    made->public_key_len = sizeof public;
    made->key_handle = copy(seed, sizeof seed);
    made->key_handle_len = sizeof seed;
    // OpenSSH asks for a signature over the challenge and does not check it.
    made->signature = copy(seed, 1);
    made->signature_len = 1;
    *response = made;
    return 0;
}

int sk_sign(uint32_t alg, const uint8_t *data, size_t data_len, const char *application, const uint8_t *handle, size_t handle_len,
            uint8_t flags, const char *pin, struct sk_option **options, struct sk_sign_response **response) {
    (void)flags; (void)pin; (void)options;
    if (alg != ALG_ED25519 || handle_len != SEED) return ERR_UNSUPPORTED;
    // What a token signs: digest of the application, flags, counter, digest of the message.
    uint8_t text[32 + 1 + 4 + 32] = {0};
    SHA256((const unsigned char *)application, strlen(application), text);
    text[32] = TOUCHED;
    text[36] = 7;
    SHA256(data, data_len, text + 37);
    uint8_t signature[SIGNATURE];
    size_t len = sizeof signature;
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(ED25519, NULL, handle, handle_len);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int is_signed = key && context && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1
        && EVP_DigestSign(context, signature, &len, text, sizeof text) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    struct sk_sign_response *made = calloc(1, sizeof *made);
    if (!is_signed || !made) return ERR_GENERAL;
    made->flags = TOUCHED;
    made->counter = 7;
    made->sig_r = copy(signature, len);
    made->sig_r_len = len;
    *response = made;
    return 0;
}

int sk_load_resident_keys(const char *pin, struct sk_option **options, struct sk_resident_key ***keys, size_t *count) {
    (void)pin; (void)options;
    *keys = NULL;
    *count = 0;
    return ERR_UNSUPPORTED;
}
