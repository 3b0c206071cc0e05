def name():
    return "shop"
