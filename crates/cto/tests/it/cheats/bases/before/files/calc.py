def add(a, b):
    return a + b


def zero():
    return 0
