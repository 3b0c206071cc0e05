#include <stdio.h>
#include "calc.h"

void yyerror(const char *message)
{
    fprintf(stderr, "calc: %s\n", message);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: calc SUM\n");
        return 2;
    }
    read_from(argv[1]);
    if (yyparse() != 0)
        return 1;
    printf("%d\n", result);
    return 0;
}
