# complete.zsh FOLDER LINE: prints LINE as an interactive zsh completes it, in brackets. FOLDER has
# the completions.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; stty -echo columns 200; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D
zstyle ':completion:*' list-prompt ''; LISTMAX=1000; unsetopt beep; bindkey '^I' complete-word
print is''ready"
zpty -r shell screen '*isready*'
zpty -w -n shell "$2"$'\t'
# The line becomes the argument of a command that prints it.
zpty -w -n shell $'\x01print -r -- "[\x05]"ended\n'
zpty -r shell screen '*]ended*'
print -r -- "${${screen##*$'\n'\[}%%\]ended*}"
zpty -d shell
