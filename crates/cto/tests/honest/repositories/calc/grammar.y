%{
#include "calc.h"
#define YYSTYPE int
int result;
%}
%token NUMBER 258
%left '+' '-'
%%
line: sum            { result = $1; }
    ;
sum: NUMBER
   | sum '+' NUMBER  { $$ = $1 + $3; }
   | sum '-' NUMBER  { $$ = $1 - $3; }
   ;
%%
