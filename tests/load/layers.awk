# SPDX-License-Identifier: BSD-3-Clause
# The layer rule. Reads source files named relative to the top of the tree and prints one line for each
# include that breaks it; exits 1 when there was one.

function allow(folder, list,    words, count, i) {
    known[folder] = 1
    count = split(list, words, " ")
    for (i = 1; i <= count; ++i) {
        allowed[folder, words[i]] = 1
    }
}

BEGIN {
    # What each folder may include besides itself. A new folder is entered here, with thought.
    allow("src/base", "")
    allow("src/config", "src/base")
    low = "src/base src/config"
    allow("src/cuda", low)
    allow("src/topo", low)
    allow("src/wire", low)
    middle = low " src/cuda src/topo src/wire"
    allow("src/datatype", low)
    allow("src/memory", middle " src/datatype")
    # The twins implement SoftCUDA's contract.
    allow("src/memory/kernel", "src/base src/memory softcuda")
    high = middle " src/memory src/datatype"
    allow("src/match", "src/base")
    allow("src/mover", high)
    allow("src/protocol", high " src/match src/mover")
    allow("src/engine", high " src/match src/mover src/protocol")
    allow("coll/pattern", "src/base")
    allow("coll/plan", "src/base coll/pattern")
    device = "src/base src/config src/cuda src/memory src/datatype"
    allow("coll/kernel", device " softcuda")  # as above
    allow("coll/select", "src/base src/config src/topo coll/pattern coll/plan coll/kernel")
    allow("coll/exec", device " coll/pattern coll/plan coll/kernel")
    parts_of_coll = "coll/pattern coll/plan coll/select coll/kernel coll/exec"
    allow("coll", device " " parts_of_coll)  # the files in coll/ itself are its public face
    allow("plugin", high " src/match src/mover src/protocol src/engine coll " parts_of_coll)

    # Foreign headers, by the start of their name, and the only places for them.
    foreign["ompi/"] = foreign["opal/"] = foreign["orte/"] = foreign["ompi_config.h"] = "plugin/"
    foreign["opal_config.h"] = foreign["mpi.h"] = foreign["mpi-ext.h"] = "plugin/"
    foreign["ucp/"] = foreign["ucs/"] = foreign["uct/"] = foreign["ucm/"] = "src/mover/ucx/"
    foreign["infiniband/"] = foreign["rdma/"] = "src/mover/verbs/"
    foreign["hwloc.h"] = foreign["hwloc/"] = foreign["nvml.h"] = "src/topo/"
    foreign["cuda.h"] = foreign["cuda_runtime"] = foreign["cuda_fp16"] = "src/cuda/ coll/kernel/"
    foreign["cuda_bf16"] = foreign["cooperative_groups"] = "src/cuda/ coll/kernel/"
    foreign["gtest/"] = foreign["gmock/"] = foreign["rapidcheck"] = "nowhere/"
}

function folder_of(path,    parts) {
    if (path ~ /^plugin\//) {
        return "plugin"
    }
    if (path ~ /^coll\/[^\/]*$/) {
        return "coll"
    }
    if (path ~ /^src\/memory\/kernel\//) {
        return "src/memory/kernel"
    }
    return split(path, parts, "/") >= 3 ? parts[1] "/" parts[2] : ""
}

function breach(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    broken = 1
}

# The folder that a quoted name leads to, "" for a neighbour in the same folder, "?" for a place out of reach.
function target_of(name, here,    parts, count) {
    count = split(name, parts, "/")
    if (count == 1) {
        return ""
    }
    if (parts[1] == "softcuda" || (parts[1] == "coll" && count == 2)) {
        return parts[1]
    }
    if (parts[1] == "coll" || parts[1] == "src") {
        return parts[1] "/" parts[2]
    }
    if (parts[1] == "plugin") {
        return "plugin"
    }
    if (("src/" parts[1]) in known) {
        return "src/" parts[1]
    }
    return "?"
}

FNR == 1 {
    here = folder_of(FILENAME)
    if (!(here in known)) {
        breach("the folder has no place in the layers (tests/load/layers.awk)")
    }
}

/^[ \t]*#[ \t]*include(_next)?[ \t]*[<"]/ {
    name = $0
    sub(/^[^<"]*[<"]/, "", name)
    sub(/[>"].*$/, "", name)
    for (start in foreign) {
        if (index(name, start) == 1 && !allowed_place(foreign[start])) {
            breach("<" name "> belongs only in " foreign[start])
        }
    }
    if ($0 ~ /include[a-z_]*[ \t]*"/ && !is_foreign(name)) {
        target = target_of(name, here)
        if (name ~ /\.\./) {
            breach("\"" name "\": name the folder instead of climbing")
        } else if (target == "?") {
            breach("\"" name "\" is none of the folders below plugin")
        } else if (target != "" && target != here && !((here, target) in allowed)) {
            breach(here " may not include " target " (\"" name "\")")
        }
    }
}

function allowed_place(places,    words, count, i) {
    count = split(places, words, " ")
    for (i = 1; i <= count; ++i) {
        if (index(FILENAME, words[i]) == 1) {
            return 1
        }
    }
    return 0
}

function is_foreign(name,    start) {
    for (start in foreign) {
        if (index(name, start) == 1) {
            return 1
        }
    }
    return 0
}

END {
    exit broken
}
