/* Sums of whole numbers. */

enum { NUMBER = 258 };

extern int yylval;
extern int result;

int yylex(void);
int yyparse(void);
void yyerror(const char *message);
void read_from(const char *text);
