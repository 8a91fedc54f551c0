# Sums of files, checked.
echo hello > h; sha256sum h > sums
sha256sum -c sums
echo changed > h
sha256sum -c --status sums || echo "differs"
cut -c1-8 sums
