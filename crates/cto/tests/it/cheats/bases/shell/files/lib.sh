# trim TEXT: prints it without the spaces at both ends
trim() {
    text=${1# }
    printf '%s\n' "${text% }"
}
