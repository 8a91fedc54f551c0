# Questions about files.
touch empty; echo x > full; mkdir dir; ln -s full link
for f in empty full dir link none; do
  [ -e $f ] && printf 'e'; [ -f $f ] && printf 'f'; [ -d $f ] && printf 'd'; [ -s $f ] && printf 's'; [ -L $f ] && printf 'L'
  echo " $f"
done
[[ -f full && ! -d full ]] && echo both
[ full -nt none ] && echo newer
