# SPDX-License-Identifier: Apache-2.0
# lit -Dopt=TIFFIN_OPT -Dfilecheck=FILECHECK -Dscratch=FOLDER test/passes
import lit.formats

config.name = "passes"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".graph"]
config.test_exec_root = lit_config.params["scratch"]
config.substitutions.append(("%opt", lit_config.params["opt"]))
config.substitutions.append(("%check", lit_config.params["filecheck"] + " %s"))
