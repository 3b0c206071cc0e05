#include <ctype.h>
#include "calc.h"

static const char *at;

void read_from(const char *text)
{
    at = text;
}

int yylex(void)
{
    while (*at == ' ')
        at++;
    if (!isdigit((unsigned char)*at))
        return *at ? *at++ : 0;
    for (yylval = 0; isdigit((unsigned char)*at); at++)
        yylval = 10 * yylval + (*at - '0');
    return NUMBER;
}
