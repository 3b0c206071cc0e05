//! Values that specifications and vendors print as examples. They are known by digest
//! alone, so that nothing that merely looks like one of them is passed over.

use sha2::{Digest as _, Sha256};

/// True if the value is one of the published examples, or a JSON web token that carries the
/// payload of one.
pub(crate) fn is_documented(value: &[u8]) -> bool {
    let payload = value.starts_with(b"eyJ").then(|| value.split(|byte| *byte == b'.').nth(1)).flatten();
    is_listed(value) || payload.is_some_and(is_listed)
}

fn is_listed(value: &[u8]) -> bool {
    let digest = hex(&Sha256::digest(value));
    DOCUMENTED.binary_search_by(|(known, _)| known.as_bytes().cmp(&digest[..])).is_ok()
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).collect()
}

/// SHA-256 and publisher, in the order of the digests.
const DOCUMENTED: &[(&str, &str)] = &[
    ("0011cc25eb4320717494d2703e8cba85743e71b500283c21c8b88147992f9059", "Azure storage emulator"),
    ("00b3dc640c9c99fcdbdab6f63d785248e4613fbaa65d63c56d97e54f987c3bab", "Twitter"),
    ("00cf4c781dc37003f7c7dd7d4c9a6ef1e0f4c62d9a291aa8bc398774e3fefd32", "RFC 6749"),
    ("02091175c1ae3023fb1e92ff16e1a5ca44dcd9f449916770f7d4eb192092e273", "SendGrid"),
    ("02f7ce3c263f85c019eeeeea4b08f1b7f6ade2b7a2199c14f3efdac0eef382e1", "Discord"),
    ("099da475a54aacbacabde231639eed7b00b0a9359cddd2598004bd8b8ad23237", "RFC 8032"),
    ("0b5dd075ccdd03c42f4edda8e299e6838e2a75d3486a2a8d86940ed1541e9178", "Telegram"),
    ("0e04efa6bc7d2d512fc108c5ba4215c42a7d4674301511c5d18f2e2885d45f35", "Twitter"),
    ("1021ad463a161d69de63ef74566407b9ed012deb6d9306a4bc7183544c84350c", "Google"),
    ("1314a52039d7ab429e5068ec6079d295536e600085fd7d35b781f12838a4239c", "AWS API examples"),
    ("13b847adf042a9eb50d3f096591709a1c39e2abaf46b2dbfc9b84bc55e22ffd7", "AWS API examples"),
    ("16529b293d4d3f1a6f8fe7ef5ad0ede5a032d3da3e7825c10160a7505a9b5740", "AWS API examples"),
    ("190edf59d5736c3b3ea6bb36d57f5eb415a9b79f3201b381b8f3cb089135981f", "RFC 8037"),
    ("1a5d44a2dca19669d72edf4c4f1c27c4c1ca4b4408fbb17f6ce4ad452d78ddb3", "AWS"),
    ("1d23b6b67fde9263896ffd38cb422c62669b806d5ba5a9aeb73169639de76346", "AWS API examples"),
    ("25be1edd45a3a982faa1861a20949eb23625d150d1926403060937ade7f2a1de", "jwt.io, payload"),
    ("293257ab6495ebb11cf9e4aee0686ca30df8de2ab8d251f2cbbcf177bdfcae91", "RFC 5849"),
    ("2cafc0970149a84f3b9e62eaf169f36f59907a3b3e31f7b82e68c69cd27f7326", "Stripe"),
    ("2d1f7723aabc5c7a51fcdc2463c99b5f3fdbc57cf3134db4ac12913c35976e6f", "Stripe"),
    ("2ff8b0fb93aca981c78f1e94355c298c23435461f1072ef4674848e620371787", "RFC 5849"),
    ("32cd61d7a4d1ae9f72ad09c70f50f173085e9c22160afd84edb169af126796a0", "RFC 7519, payload"),
    ("3373cfa8cfd3d25622125d01af103fd4727b8d44648999185b68346ab5f4d59d", "jwt.io, payload"),
    ("3543c50b0cb9cea8e55eb1f529b79f043cb250d485fde7b66cabbb5183add7da", "GitHub"),
    ("3b27e79a6d4dcff8766f6ff4f49503bd05aaf6efc852bba25cfbd697f87c09a9", "Tailscale"),
    ("3d4dd3022c71f834c7dc3cbcf10adb28fbba52ef040f7d971c83c1b34abd4275", "AWS API examples"),
    ("3e6099e82cea8b701718e015aae2c66d53346a0f67358dcb5b1998c46ea126de", "RFC 6750"),
    ("45a87856c0d470a0c8b4f725e7024bf3876cb7b3fe6b2591d272a3c591e011f2", "AWS API examples"),
    ("465d9ad5d5528ebe287b5dce4fb51620833d09b290e49ddcc70ca6c4a0aea01b", "jwt.io"),
    ("4c20e6f5cc11b93731e74cbe20739821d61c3563c9f50ecb884a27cd369f01fb", "RFC 5849"),
    ("4ff96a60934849a7f7c7733f163824cc22be7da33384bbd0b5de992972ea5586", "RFC 8410"),
    ("53f5da0aaa93d64cd5772c554cbf940f0539e689dddbeb8f923eec3f72c02ea9", "RFC 6749"),
    ("549c9390539efcfa01d2744e82e7da34409a63dd0feaf310f7a6e12551fe7668", "RFC 6238"),
    ("5aac38e542b76b97b3518c0293214d0b8aa11344e38518437f7dd44da0b521c3", "Twitter"),
    ("5ccf2edb4f070f0b180f1adadb1be7c568d04181e7938433c4503db2d2bf8b3e", "RFC 7515"),
    ("5de261506c0ff857b7c1af7059f842fb0a36d1ca2e4895da542c5eb726f2c802", "Hugging Face"),
    ("60c7b360c63758918173e2f9c36036da504edbae122a616a53747b4ab042e1f1", "PyJWT, payload"),
    ("647f7143af14706273d54740603644de5cb9abb42a76b7a0d32a48c9261860c5", "AWS"),
    ("649e1f5c769e718ba10d1a702a36499a731441d960b06da91c4c97786bf84595", "RFC 5849"),
    ("687da00b09c83361bf3a2853b3a0c7d63ca5da870c8d3cdc20905c7aa546840a", "RFC 7617"),
    ("6aa14267d94944e6b6483c81f5ad37f87bbc7e88aa368d4aba1e71e0b79cd8c4", "RFC 5849 and its libraries"),
    ("6c96130f130ab0d6d158397e24d2bcc1c9a5e73ae081f6e983f1c7b545d24a4c", "RFC 6749"),
    ("6caa448826c11cd39c78a3a223c3ddb55358c975c0456e37058ccfbc559c86ce", "AWS API examples"),
    ("6d7fa4e64d4b1f3ea31962e258b684de1f244434ebb11089b9d9817e44c43303", "GitHub"),
    ("78314b11be2e581549ac1c4f616563fad3fdf0c3b71678f6e2299182080e0598", "AWS"),
    ("797c0ce414586cc8eb6929afe947c720e3e4d351dd070a6fe39f630beaab3054", "GitHub"),
    ("79d571b6c0c11df36b4fc38c42055ffb35dfb4a7cc3a8ba956f6f59961aa137b", "AWS API examples"),
    ("82e74299544e00738f9c0acb69b1eb348b3e20ffcfabcb34779bd37590fead6c", "GitHub"),
    ("8b1b17a9740c068accab5c3d0d652c8e3cc13206e70bb73b42ea41d4c2de3c12", "RFC 7515"),
    ("8be5d113c0871ce1a122d68a7dff940ab7b09ad8dfcfd9a85aa5c1acc026279e", "key URI format of authenticators"),
    ("9cad21446b79d6b1604a6f3e50d15769c94a1b6ed0f3f49ebf871f7ecca7fdb8", "jwt.io, payload"),
    ("9d03b692e941d5ace207a9f8048834439f6de98e5c6c1590c22c4f4577c88a42", "RFC 5849 and its libraries"),
    ("a35b81a7d7927b70ec99270dd2362b88580a28574af812f2c02f56469579186f", "RFC 6749"),
    ("a45404ae333dd955dcff82cf28972e0f81b1e673cb70e2fc2d7d0d4c42a893bc", "RFC 7517"),
    ("aa6547439583c3a275d4542a0df6c1ad6a863971be9f2a2220f027cc02aef615", "Azure Cosmos DB emulator"),
    ("b87dad10a32a2d81aa2e36e31e258b36ac0c3b07d1c1d5837185e206e17e3a06", "RFC 5849"),
    ("b8e148545b13c78bc74da2f1a7275dd71e56ddece129d7d2f7b3ecc06f7994da", "RFC 6750"),
    ("bb9b1163338b2a51495834ad5c65420443d6327381cf0f94ebf92b117f209d72", "RFC 5849"),
    ("bc3ae723f57c6b9e3fd80b699fcc420f6074b0b1718039669d22631d508ac0a7", "GitHub"),
    ("bf145d9380bbe05bdc1a72525796b224f8a8c93ae0e9e102eafbc255ac1af9e8", "PyJWT"),
    ("c20fbc2b96183894fb46187909d02afbef5b1b56398ece2a653745dbfb407553", "RFC 5849"),
    ("c6ea27c534f993d31f0aef882e3d200e7b87470c379ae79c8f9b19d3bd363dc9", "AWS"),
    ("c93ec7e08cd30815dd12543d7ebe307a5162e3007d09c94ed2c95a4905c3e100", "AWS API examples"),
    ("ca7459e2b26776de081b9a07e40227fd6cff232a1e3233ff6b6aa6d036ca9981", "RFC 6749"),
    ("cb20d34a7adda2f5d2043836051e242fd4c2b233e02c80c91fe9d5af9b100574", "AWS"),
    ("cb87c87e4a138d9a72259d2a01bab15623c9846e568c1509b287721645a6ea53", "RFC 5849"),
    ("cf4d418ed3de92d71f767db5391d5a2dacd40e1ce49e75d1137e2ecf4982d844", "RFC 7617"),
    ("d05f6bb1aa2e4ccd9e4a1d22f1edbe119406d3d1aa30261d699b4ff2bf72e59b", "RFC 7617"),
    ("d167410a16865cd6463a00034dff5e571738b101e6a273d9fe3fe30f10db5bd5", "RFC 5849 and its libraries"),
    ("d8ccc3c547c850170a24a46dceca05861438dca7b115589739d526d2df404b66", "AWS API examples"),
    ("e21b597ba6b9cafa59d9ebc4d65c0385f5eb3fa56abab2607fa76589ad849a33", "AWS"),
    ("e6c2d3455587c47ccdd3df1271882656bc27be85f8eb6576eea35fe1aafa172a", "AWS API examples"),
    ("e8a0614b6747a06ff9a2728dd2250bf13068310cd2550ebc3cecd4d287a4e259", "AWS"),
    ("e94bb87c35362e26934e35463a99d82baa2763a2e6eb5194ea299b0d16353177", "Telegram"),
    ("e9974c507d2a802143f614c878fcbb622a3800e05e6e0d329fee2c5b6b243329", "RFC 6749"),
    ("ea1ca3e25b35a51ea7c8c9e5434d6faa6d49963d09845fb49028aaa4f6a2e709", "WireGuard"),
    ("ea9bdfd02c0c412c8cc36ba67f6c17f9b314b2c518e63ff3776077d68245736d", "RFC 7009"),
    ("f2d6ca16515033e5dce14eba840b979d27b5cbae24bb3e5bf484339667f86397", "Stripe"),
    ("f420161d76f067dddce7bd3f694d8176326edc0a48d628ef8a3739a75dac5318", "AWS API examples"),
    ("f51685e9f0bf58d57b3ebf694fb75bfa4ba46f5146e389410f8ea1953c006615", "WireGuard"),
    ("f5375a46365089a84f4f822b70d44e744d64775cc747f030f8488a6274fe28f8", "Slack"),
    ("f53cddc280b557329a105bd75d086e19f425b156106a657eeba4074aed791032", "Kubernetes client"),
    ("f7d838701b86c5dfb57bf95fbc5ce6df204cfc9f15ad6cdb39fd22f8776e47b6", "jwt.io"),
    ("fd704bb82fb45cd574f15d810ff9005bacce20c704860db75a2a8a8698fcd439", "RFC 8410"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RuleSet, Scanner};

    #[test]
    fn the_list_is_in_order() {
        assert!(
            DOCUMENTED.is_sorted()
                && DOCUMENTED.iter().all(|(digest, source)| digest.len() == 64 && !source.is_empty())
        );
    }

    /// Each example is no hit, and is one when a single character of it is another.
    #[test]
    fn an_example_is_known_by_its_digest_alone() {
        let scanner = Scanner::new(&[], RuleSet::standard());
        for (before, pieces, change) in [
            ("access_token=", ["2YotnFZFEjr1", "zCsicMWpAA"], ("WpAA", "WpAB")),
            ("client_secret: ", ["7Fjfp0ZBr1Kt", "DRbnfVdmIw"], ("dmIw", "dmIx")),
            ("", ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"], ("B4a", "B4b")),
            ("", ["AIzaSyD-9tSrke72Po", "uQMnMX-a7eZSW0jkFMBWY"], ("MBWY", "MBWZ")),
            ("", ["sk_test_4eC39HqLyj", "WDarjtT1zdp7dc"], ("7dc", "7dd")),
            ("\"d\":\"", ["jpsQnnGQmL-YBIffH1136cs", "pYG6-0iY7X1fCE9-E9LI\""], ("9LI", "9LJ")),
            (
                "",
                [
                    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0",
                    "IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
                ],
                ("IyfQ.", "IzfQ."),
            ),
        ] {
            let text = [before, &pieces.concat()].concat();
            assert_eq!(scanner.scan(text.as_bytes()), [], "{text}");
            let other = text.replace(change.0, change.1);
            assert_eq!(scanner.scan(other.as_bytes()).len(), 1, "control: {other}");
        }
    }
}
