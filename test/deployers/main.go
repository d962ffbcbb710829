// Reads {"objects": [...], "lua": "..."} from standard input, and prints for each object what kstatus, the library of Flux and
// Helm 4, says about it, and what a health check in Lua says, run as Argo CD runs it.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type question struct {
	Objects []json.RawMessage `json:"objects"`
	Lua     string            `json:"lua"`
}

type answer struct {
	Kstatus string `json:"kstatus"`
	Message string `json:"message"`
	Argo    string `json:"argo"`
	Says    string `json:"says"`
}

func main() {
	var asked question
	must(json.NewDecoder(os.Stdin).Decode(&asked))
	answers := []answer{}
	for _, raw := range asked.Objects {
		object := &unstructured.Unstructured{}
		must(object.UnmarshalJSON(raw))
		result, err := status.Compute(object)
		must(err)
		argo, says, err := health(asked.Lua, object.Object)
		must(err)
		answers = append(answers, answer{Kstatus: result.Status.String(), Message: result.Message, Argo: argo, Says: says})
	}
	must(json.NewEncoder(os.Stdout).Encode(answers))
}

// As util/lua of Argo CD does: a state with the base and table libraries alone, the object as the global obj, and the table
// that the script returns.
func health(script string, object map[string]any) (string, string, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(library.open), Protect: true}, lua.LString(library.name)); err != nil {
			return "", "", err
		}
	}
	state.SetGlobal("obj", valueOf(state, object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	table, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return "", "", fmt.Errorf("the health check returned %s", state.Get(-1).Type())
	}
	return lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message")), nil
}

func valueOf(state *lua.LState, value any) lua.LValue {
	switch known := value.(type) {
	case bool:
		return lua.LBool(known)
	case float64:
		return lua.LNumber(known)
	case int64:
		return lua.LNumber(known)
	case string:
		return lua.LString(known)
	case []any:
		list := state.NewTable()
		for _, each := range known {
			list.Append(valueOf(state, each))
		}
		return list
	case map[string]any:
		table := state.NewTable()
		for key, each := range known {
			table.RawSetString(key, valueOf(state, each))
		}
		return table
	}
	return lua.LNil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
