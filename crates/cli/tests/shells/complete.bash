# complete.bash SCRIPT WORD...: prints what an interactive bash offers for the last word. SCRIPT has
# the completions.
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
$(complete -p weir | sed 's/.*-F \([^ ]*\) .*/\1/') weir "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
# Without an offer, bash completes the names of files if it is told to.
if [ ${#COMPREPLY[@]} = 0 ] && complete -p weir | grep -q -e '-o default' -e '-o bashdefault'; then
    compgen -f -- "${COMP_WORDS[COMP_CWORD]}"
fi
