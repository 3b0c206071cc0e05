# The name of a file with a date in front. Folders stay as they are.
stamped() {
    case $2 in
        */*) printf '%s/%s-%s\n' "${2%/*}" "$1" "${2##*/}" ;;
        *) printf '%s-%s\n' "$1" "$2" ;;
    esac
}
