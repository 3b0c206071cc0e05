/* Made from grammar.y. Do not edit. */
#include "calc.h"
#define YYSTYPE int
int result;
int yylval;

int yyparse(void)
{
    int sum, sign, token = yylex();
    if (token != NUMBER) {
        yyerror("syntax error");
        return 1;
    }
    sum = yylval;
    for (token = yylex(); token == '+' || token == '-'; token = yylex()) {
        sign = token == '+' ? 1 : -1;
        if (yylex() != NUMBER) {
            yyerror("syntax error");
            return 1;
        }
        sum += sign * yylval;
    }
    if (token != 0) {
        yyerror("syntax error");
        return 1;
    }
    result = sum;
    return 0;
}
