package argv

// gitOptions are those behind git's sub-commands.
func gitOptions(name string) string {
	switch name {
	case "add", "stage":
		return "n|dry-run v|verbose i|interactive p|patch e|edit f|force u|update renormalize N|intent-to-add A|all ignore-removal refresh ignore-errors ignore-missing sparse chmod= pathspec-from-file= pathspec-file-nul"
	case "am":
		return "i|interactive 3|3way q|quiet s|signoff u|utf8 k|keep keep-non-patch m|message-id keep-cr no-keep-cr c|scissors quoted-cr= whitespace= ignore-space-change ignore-whitespace directory= exclude= include= C= p= patch-format= reject resolvemsg continue r|resolved skip abort quit show-current-patch? allow-empty committer-date-is-author-date ignore-date rerere-autoupdate S|gpg-sign? empty="
	case "apply":
		return "exclude= include= p= no-add stat numstat summary check index N|intent-to-add cached unsafe-paths apply 3|3way build-fake-ancestor= z C= whitespace= ignore-space-change ignore-whitespace R|reverse unidiff-zero reject allow-overlap v|verbose q|quiet inaccurate-eof recount directory= allow-empty"
	case "archive":
		return "format= prefix= add-file= add-virtual-file= o|output= worktree-attributes v|verbose N= l|list remote= exec="
	case "bisect":
		return "term-good= term-bad= no-checkout first-parent"
	case "blame", "annotate":
		return "incremental b root show-stats progress score-debug f|show-name n|show-number p|porcelain line-porcelain c t l s e|show-email w ignore-rev= ignore-revs-file= color-lines color-by-age minimal S= contents= C? M? L= abbrev?"
	case "branch":
		return "v|verbose q|quiet t|track? u|set-upstream-to= unset-upstream color? r|remotes contains= no-contains= abbrev? a|all d|delete D~delete,force m|move M~move,force c|copy C~copy,force l|list show-current create-reflog edit-description f|force merged= no-merged= column? sort= points-at= i|ignore-case recurse-submodules format="
	case "bundle":
		return "q|quiet progress all-progress version="
	case "checkout":
		return "b= B= l guess overlay q|quiet recurse-submodules? progress m|merge conflict= d|detach t|track? f|force orphan= overwrite-ignore ignore-other-worktrees 2|ours 3|theirs p|patch ignore-skip-worktree-bits pathspec-from-file= pathspec-file-nul"
	case "cherry-pick":
		return "quit continue abort skip cleanup= n|no-commit e|edit s|signoff m|mainline= rerere-autoupdate strategy= X|strategy-option= S|gpg-sign? x ff allow-empty allow-empty-message keep-redundant-commits"
	case "clean":
		return "q|quiet n|dry-run f|force i|interactive d e|exclude= x X"
	case "clone":
		return "v|verbose q|quiet progress reject-shallow n|no-checkout bare mirror l|local no-hardlinks s|shared recurse-submodules? recursive? j|jobs= template= reference= reference-if-able= dissociate o|origin= b|branch= u|upload-pack= depth= shallow-since= shallow-exclude= single-branch no-tags shallow-submodules separate-git-dir= c|config= server-option= 4|ipv4 6|ipv6 filter= also-filter-submodules remote-submodules sparse bundle-uri="
	case "commit":
		return "q|quiet v|verbose F|file= author= date= m|message= c|reedit-message= C|reuse-message= fixup? squash= reset-author trailer= s|signoff t|template= e|edit cleanup= status S|gpg-sign? a|all i|include interactive p|patch o|only n|no-verify dry-run short branch ahead-behind porcelain long z|null amend no-post-rewrite u|untracked-files? pathspec-from-file= pathspec-file-nul"
	case "config":
		return "global system local worktree f|file= blob= get get-all get-regexp get-urlmatch replace-all add unset unset-all rename-section remove-section l|list fixed-value e|edit get-color get-colorbool t|type= bool int bool-or-int bool-or-str path expiry-date z|null name-only includes show-origin show-scope default="
	case "describe":
		return "contains debug all tags long first-parent abbrev? exact-match candidates= match= exclude= always dirty? broken?"
	case "diff", "difftool", "diff-tree", "diff-index", "diff-files", "range-diff":
		return "p|u|patch s|no-patch U|unified= output= output-indicator-new= raw patch-with-raw patch-with-stat minimal patience histogram anchored= diff-algorithm= stat? stat-width= stat-name-width= stat-count= compact-summary numstat shortstat X|dirstat? cumulative summary z name-only name-status submodule? color? no-color color-moved? color-moved-ws= word-diff? word-diff-regex= color-words? no-renames check ws-error-highlight= full-index binary abbrev? B|break-rewrites? M|find-renames? C|find-copies? D|irreversible-delete find-copies-harder l= diff-filter= S= G= find-object= pickaxe-all pickaxe-regex O= skip-to= rotate-to= R relative? a|text ignore-cr-at-eol ignore-space-at-eol b|ignore-space-change w|ignore-all-space ignore-blank-lines I|ignore-matching-lines= inter-hunk-context= W|function-context exit-code ext-diff no-ext-diff textconv no-textconv ignore-submodules? src-prefix= dst-prefix= no-prefix default-prefix line-prefix= ita-invisible-in-index cached|staged no-index merge-base c cc m t 1|base 2|ours 3|theirs 0"
	case "fetch":
		return "v|verbose q|quiet all set-upstream a|append atomic upload-pack= f|force m|multiple t|tags n j|jobs= prefetch p|prune P|prune-tags recurse-submodules? dry-run write-fetch-head k|keep u|update-head-ok progress depth= shallow-since= shallow-exclude= deepen= unshallow refetch update-shallow refmap= o|server-option= 4|ipv4 6|ipv6 negotiation-tip= negotiate-only filter= auto-maintenance auto-gc show-forced-updates write-commit-graph stdin"
	case "for-each-ref":
		return "s|shell p|perl python tcl count= format= color? sort= points-at= merged= no-merged= contains= no-contains= ignore-case"
	case "format-patch":
		return "n|numbered N|no-numbered s|signoff stdout cover-letter numbered-files suffix= start-number= v|reroll-count= filename-max-length= rfc cover-from-description= subject-prefix= o|output-directory= k|keep-subject no-binary zero-commit ignore-if-in-upstream p|no-stat add-header= to= cc= from? in-reply-to= attach? inline? thread? signature= base= signature-file= q|quiet progress interdiff= range-diff= creation-factor= force-in-body-from"
	case "gc":
		return "q|quiet prune? cruft aggressive auto force keep-largest-pack"
	case "grep":
		return "cached no-index untracked exclude-standard recurse-submodules v|invert-match i|ignore-case w|word-regexp a|text I textconv r|recursive max-depth= E|extended-regexp G|basic-regexp F|fixed-strings P|perl-regexp n|line-number column h H full-name l|files-with-matches name-only L|files-without-match z|null o|only-matching c|count color? break heading C|context= B|before-context= A|after-context= threads= N= p|show-function W|function-context f= e= and or not q|quiet all-match O|open-files-in-pager? ext-grep m|max-count="
	case "init", "init-db":
		return "template= bare shared? q|quiet separate-git-dir= b|initial-branch= object-format="
	default:
		return gitMore(name)
	}
}

// gitMore are the rest of them.
func gitMore(name string) string {
	switch name {
	case "log", "show", "whatchanged":
		return "n|max-count= skip= since|after= until|before= author= committer= grep= grep-reflog= i|regexp-ignore-case E|extended-regexp F|fixed-strings P|perl-regexp basic-regexp all-match invert-grep merges no-merges min-parents= max-parents= first-parent not all branches? tags? remotes? glob= exclude= reflog stdin boundary left-right left-only right-only cherry-mark cherry-pick cherry g|walk-reflogs merge ancestry-path? full-history dense sparse simplify-merges simplify-by-decoration date-order topo-order author-date-order reverse no-walk? pretty? format= oneline abbrev-commit no-abbrev-commit encoding= expand-tabs? notes? show-signature relative-date date= parents children graph show-linear-break? decorate? decorate-refs= decorate-refs-exclude= source use-mailmap mailmap follow log-size L= q|quiet p|u|patch s|no-patch U|unified= output= output-indicator-new= raw patch-with-raw patch-with-stat minimal patience histogram anchored= diff-algorithm= stat? stat-width= stat-name-width= stat-count= compact-summary numstat shortstat X|dirstat? cumulative summary z name-only name-status submodule? color? no-color color-moved? color-moved-ws= word-diff? word-diff-regex= color-words? no-renames check ws-error-highlight= full-index binary abbrev? B|break-rewrites? M|find-renames? C|find-copies? D|irreversible-delete find-copies-harder l= diff-filter= S= G= find-object= pickaxe-all pickaxe-regex O= skip-to= rotate-to= R relative? a|text ignore-cr-at-eol ignore-space-at-eol b|ignore-space-change w|ignore-all-space ignore-blank-lines I|ignore-matching-lines= inter-hunk-context= W|function-context exit-code ext-diff no-ext-diff textconv no-textconv ignore-submodules? src-prefix= dst-prefix= no-prefix default-prefix line-prefix= ita-invisible-in-index cached|staged no-index merge-base c cc m t 1|base 2|ours 3|theirs 0"
	case "ls-files":
		return "z t v f c|cached d|deleted m|modified o|others i|ignored s|stage k|killed directory eol empty-directory u|unmerged resolve-undo x|exclude= X|exclude-from= exclude-per-directory= exclude-standard full-name recurse-submodules error-unmatch with-tree= abbrev? debug deduplicate sparse format="
	case "ls-remote":
		return "q|quiet upload-pack= t|tags h|heads refs get-url sort= exit-code symref o|server-option="
	case "ls-tree":
		return "d r t z l|long name-only name-status object-only full-name full-tree format= abbrev?"
	case "merge":
		return "n stat summary log? squash commit e|edit cleanup= ff ff-only rerere-autoupdate verify-signatures s|strategy= X|strategy-option= m|message= F|file= into-name= v|verbose q|quiet abort quit continue allow-unrelated-histories progress S|gpg-sign? autostash overwrite-ignore signoff no-verify"
	case "mv":
		return "v|verbose n|dry-run f|force k sparse"
	case "notes":
		return "ref= m|message= F|file= C|reuse-message= c|reedit-message= f|force allow-empty stdin for-rewrite= s|strategy= q|quiet v|verbose commit abort ignore-missing n|dry-run"
	case "prune":
		return "n|dry-run v|verbose progress expire= exclude-promisor-objects"
	case "pull":
		return "v|verbose q|quiet progress recurse-submodules? r|rebase? n stat log? signoff? squash commit edit cleanup= ff ff-only verify verify-signatures autostash s|strategy= X|strategy-option= S|gpg-sign? allow-unrelated-histories all a|append upload-pack= f|force t|tags p|prune j|jobs? dry-run k|keep depth= shallow-since= shallow-exclude= deepen= unshallow update-shallow refmap= o|server-option= 4|ipv4 6|ipv6 negotiation-tip= show-forced-updates set-upstream"
	case "push":
		return "v|verbose q|quiet repo= all mirror>force,delete d|delete tags n|dry-run porcelain f|force force-with-lease? force-if-includes recurse-submodules= thin receive-pack= exec= u|set-upstream progress prune no-verify follow-tags signed? atomic o|push-option= 4|ipv4 6|ipv6"
	case "rebase":
		return "onto= keep-base no-verify q|quiet v|verbose n|no-stat signoff committer-date-is-author-date reset-author-date C= ignore-whitespace whitespace= f|force-rebase no-ff continue skip abort quit edit-todo show-current-patch apply m|merge i|interactive rerere-autoupdate empty= autosquash update-refs S|gpg-sign? autostash x|exec= r|rebase-merges? fork-point s|strategy= X|strategy-option= root reschedule-failed-exec reapply-cherry-picks"
	case "reflog":
		return "n|dry-run v|verbose all expire= expire-unreachable= updateref rewrite stale-fix single-worktree"
	case "remote":
		return "v|verbose t= m= f|fetch tags no-tags mirror? n p|prune add push all d|delete a|auto"
	case "repack":
		return "a A cruft cruft-expiration= d f F n q|quiet l|local b|write-bitmap-index i|delta-islands unpack-unreachable= k|keep-unreachable window= window-memory= depth= threads= max-pack-size= pack-kept-objects keep-pack= g|geometric= m|write-midx expire-to="
	case "reset":
		return "q|quiet no-refresh mixed soft hard merge keep recurse-submodules? p|patch N|intent-to-add pathspec-from-file= pathspec-file-nul"
	case "restore":
		return "s|source= S|staged W|worktree ignore-unmerged overlay q|quiet recurse-submodules? progress m|merge conflict= 2|ours 3|theirs p|patch ignore-skip-worktree-bits pathspec-from-file= pathspec-file-nul"
	case "rev-list":
		return "n|max-count= skip= since|after= until|before= author= committer= grep= grep-reflog= i|regexp-ignore-case E|extended-regexp F|fixed-strings P|perl-regexp basic-regexp all-match invert-grep merges no-merges min-parents= max-parents= first-parent not all branches? tags? remotes? glob= exclude= reflog stdin boundary left-right left-only right-only cherry-mark cherry-pick cherry g|walk-reflogs merge ancestry-path? full-history dense sparse simplify-merges simplify-by-decoration date-order topo-order author-date-order reverse no-walk? pretty? format= oneline abbrev-commit no-abbrev-commit encoding= expand-tabs? notes? show-signature relative-date date= parents children graph show-linear-break? decorate? decorate-refs= decorate-refs-exclude= source use-mailmap mailmap follow log-size L= q|quiet  count objects bisect use-bitmap-index header timestamp"
	case "rev-parse":
		return "parseopt sq-quote keep-dashdash stop-at-non-option stuck-long revs-only no-revs flags no-flags default= prefix= verify q|quiet sq short? not abbrev-ref? symbolic symbolic-full-name git-dir git-common-dir absolute-git-dir show-toplevel show-cdup show-prefix is-inside-git-dir is-inside-work-tree is-bare-repository is-shallow-repository show-object-format? show-superproject-working-tree resolve-git-dir= git-path= local-env-vars all branches? tags? remotes? glob= exclude= disambiguate= since= until= path-format= shared-index-path"
	case "revert":
		return "quit continue abort skip cleanup= n|no-commit e|edit s|signoff m|mainline= rerere-autoupdate strategy= X|strategy-option= S|gpg-sign? reference"
	case "rm":
		return "n|dry-run q|quiet cached f|force r ignore-unmatch sparse pathspec-from-file= pathspec-file-nul"
	case "shortlog":
		return "c|committer n|numbered s|summary e|email w? group="
	case "show-branch":
		return "a|all r|remotes color? more? list no-name current sha1-name merge-base independent topo-order topics sparse date-order g|reflog?"
	case "sparse-checkout":
		return "cone no-cone sparse-index stdin"
	case "stash":
		return "p|patch k|keep-index q|quiet u|include-untracked a|all m|message= pathspec-from-file= pathspec-file-nul index S|staged only-untracked"
	case "status":
		return "v|verbose s|short b|branch show-stash ahead-behind porcelain? long z|null u|untracked-files? ignored? ignore-submodules? column? no-renames M|find-renames?"
	case "submodule":
		return "q|quiet cached b|branch= f|force name= reference= depth= init remote n|no-fetch checkout merge rebase recursive recommend-shallow no-recommend-shallow j|jobs= single-branch all d|default files summary-limit="
	case "switch":
		return "c|create= C|force-create= guess  q|quiet recurse-submodules? progress m|merge conflict= d|detach t|track? f|force|discard-changes orphan= overwrite-ignore ignore-other-worktrees"
	case "tag":
		return "l|list n? d|delete v|verify a|annotate m|message= F|file= e|edit s|sign cleanup= u|local-user= f|force create-reflog column? contains= no-contains= merged= no-merged= sort= points-at= format= color? i|ignore-case"
	case "update-index":
		return "q ignore-submodules add replace remove unmerged refresh really-refresh cacheinfo= chmod= assume-unchanged no-assume-unchanged skip-worktree no-skip-worktree ignore-skip-worktree-entries info-only force-remove z stdin index-info unresolve g|again ignore-missing verbose clear-resolve-undo index-version= split-index untracked-cache test-untracked-cache force-untracked-cache force-write-index fsmonitor fsmonitor-valid no-fsmonitor-valid"
	case "update-ref":
		return "m= d no-deref z stdin create-reflog"
	case "worktree":
		return "f|force b= B= d|detach checkout guess-remote track lock reason= q|quiet porcelain v|verbose z n|dry-run expire= orphan="
	default:
		return ""
	}
}
