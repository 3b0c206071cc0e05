#include "add.h"
#include <assert.h>

int main(void) {
    assert(add(0, 0) == 0);
    assert(add(2, 0) == 2);
    assert(add(1, 2) == 3);
    return 0;
}
