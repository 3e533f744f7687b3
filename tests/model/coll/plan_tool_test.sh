#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# beeline-plan proves everything, shows what runs, and refuses what it cannot prove.
set -euo pipefail
tool=$top_builddir/beeline-plan
[ -x "$tool" ] || { echo "beeline-plan is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAIL: $*"; exit 1; }

# The whole proof, about half a minute of one core.
"$tool" verify >"$work/proof" || { cat "$work/proof"; fail "a proof"; }
tail -n 1 "$work/proof"
grep -q '; 0 failed$' "$work/proof" || fail "no count of failures"
[ "$(tail -n +2 "$work/proof" | head -n -1 | wc -l)" = "$("$tool" list | tail -n +2 | wc -l)" ] ||
	fail "an algorithm was not proved"

"$tool" show allreduce --ranks 8 --bytes 1M --svg "$work/a.svg" --json "$work/a.json" >"$work/shown"
grep -q '^chosen: [a-z_]*, [0-9]* slices: the cheapest by the cost model' "$work/shown" ||
	fail "no choice with its reason"
[ "$(grep -c 'refused: \|^[a-z_]* .*[0-9][.][0-9][0-9]$' "$work/shown")" -ge "$("$tool" list allreduce | tail -n +2 | wc -l)" ] ||
	fail "a candidate is missing"
grep -q '^fused_two_shot ' "$work/shown" || fail "no fused candidate"
algorithm=$(sed -n 's/^chosen: \([a-z_]*\),.*/\1/p' "$work/shown")
grep -q '^proof: holds' "$work/shown" || fail "no proof"
grep -q '^   0 receive output' "$work/shown" || fail "no steps"
grep -q '</svg>' "$work/a.svg" || fail "no picture"
"$tool" check "$work/a.json" >"$work/out"
grep -q "^proved: allreduce $algorithm of 8 ranks" "$work/out" || fail "check"

sed '0,/"peer": 1/s//"peer": 2/' "$work/a.json" >"$work/b.json"
if "$tool" check "$work/b.json" >"$work/refusal"; then fail "a wrong schedule was proved"; fi
grep -q '^refused: rank' "$work/refusal" || fail "no reason for the refusal"

# Loops: short in print and in files, whole when asked for.
"$tool" show allreduce --ranks 64 --algorithm ring --name my_ring --json "$work/loops.json" >"$work/out"
[ "$(grep -c 'in turns k = 0\.\.' "$work/out")" = 2 ] || fail "loops"
"$tool" show allreduce --ranks 64 --algorithm ring --unrolled >"$work/out"
[ "$(grep -c '^ *[0-9]* send ' "$work/out")" = 126 ] || fail "every step"
grep -q '"op": "repeat"' "$work/loops.json" || fail "loops in a file"
"$tool" check "$work/loops.json" >"$work/out" || fail "a file with loops"
grep -q '^a job loads it as my_ring, for 0 bytes and above, operations that commute$' "$work/out" ||
	fail "how a job takes a schedule"
"$tool" show allreduce --ranks 64 --schedules "$work/loops.json" >"$work/out"
grep -q '^chosen: my_ring, 1 slices: loaded for these ranks and bytes' "$work/out" || fail "a schedule from a file"
if "$tool" show allreduce --schedules "$work/b.json" 2>"$work/refusal"; then fail "a wrong file of schedules"; fi
grep -q 'b.json: rank .*; allowed: ' "$work/refusal" || fail "no reason for the refusal of a file of schedules"

# MSCCL's XML: two ranks exchange their vectors and combine them.
{
	echo '<algo name="exchange" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2" coll="allreduce" inplace="1">'
	for rank in 0 1; do
		echo " <gpu id=\"$rank\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"1\">"
		echo "  <tb id=\"0\" send=\"$((1 - rank))\" recv=\"$((1 - rank))\" chan=\"0\">"
		n=0
		for step in s:i:s r:i:s re:s:i; do
			IFS=: read -r type from to <<<"$step"
			echo "   <step s=\"$n\" type=\"$type\" srcbuf=\"$from\" srcoff=\"0\" dstbuf=\"$to\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>"
			n=$((n + 1))
		done
		echo '  </tb></gpu>'
	done
	echo '</algo>'
} >"$work/x.xml"
"$tool" check "$work/x.xml" --json "$work/x.json" --svg "$work/x.svg" >"$work/out" || { cat "$work/out"; fail "MSCCL's XML"; }
grep -q '^proved: allreduce exchange of 2 ranks$' "$work/out" || fail "what an MSCCL algorithm is"
"$tool" check "$work/x.json" >"$work/out" || fail "an MSCCL algorithm as JSON"
grep -q '</svg>' "$work/x.svg" || fail "no picture of an MSCCL algorithm"
sed 's/type="re"/type="cpy"/' "$work/x.xml" >"$work/y.xml"
if "$tool" check "$work/y.xml" >"$work/refusal"; then fail "a wrong MSCCL algorithm was proved"; fi
grep -q '^refused: ' "$work/refusal" || fail "no reason for the refusal of an MSCCL algorithm"

# Never into `grep -q`: it ends early, and the tool would fail by the closed pipe.
"$tool" show allreduce --ranks 7 --nodes 3,2,2 --algorithm hierarchical --slices 2 >"$work/out"
grep -q 'between nodes' "$work/out" || fail "no phases"
# A tuning file decides, and one that is wrong is refused by line, value and what is allowed.
printf 'beeline-tuning 1\n# ours\nrule collective=allreduce ranks=2-8 bytes=1M- algorithm=ring slices=2\n' >"$work/t"
"$tool" show allreduce --ranks 8 --bytes 1M --tuning "$work/t" >"$work/out"
grep -q '^chosen: ring, [0-9]* slices: by a rule of the tuning file, line 3$' "$work/out" || fail "no rule"
printf 'beeline-tuning 1\nrule collective=allreduce algorithm=rung\n' >"$work/t"
if "$tool" show allreduce --tuning "$work/t" 2>"$work/refusal"; then fail "a wrong tuning file"; fi
grep -q "t:2: algorithm 'rung' is refused; allowed: staged, one_shot, two_shot, ring" "$work/refusal" ||
	fail "no reason for the refusal of a tuning file"
for bad in "allreduc" "allreduce --algorithm ring --not-commutative" "allreduce --nodes 3" \
	"bcast --root 9" "allreduce --ranks 0" "scan --algorithm ring"; do
	# shellcheck disable=SC2086
	if "$tool" show $bad >/dev/null 2>&1; then fail "show $bad"; fi
done
