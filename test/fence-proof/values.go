package main

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// sorted is a map whose keys come in order, so that an evaluation reads the same things in the same order each time.
type sorted struct {
	traits.Mapper
	keys []ref.Val
}

func newSorted(entries map[string]ref.Val) *sorted {
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	sort.Strings(names)
	values := make(map[ref.Val]ref.Val, len(entries))
	keys := make([]ref.Val, 0, len(entries))
	for _, name := range names {
		keys = append(keys, types.String(name))
		values[types.String(name)] = entries[name]
	}
	return &sorted{types.NewRefValMap(types.DefaultTypeAdapter, values), keys}
}

func (s *sorted) Iterator() traits.Iterator {
	return types.NewRefValList(types.DefaultTypeAdapter, s.keys).Iterator()
}

// copyOf is a value of the API server as maps in order, lists and scalars. All that it holds is read now.
func copyOf(value ref.Val) ref.Val {
	switch typed := value.(type) {
	case traits.Mapper:
		entries := map[string]ref.Val{}
		for at := typed.Iterator(); at.HasNext() == types.True; {
			key := at.Next()
			entries[string(key.(types.String))] = copyOf(typed.Get(key))
		}
		return newSorted(entries)
	case traits.Lister:
		items := []ref.Val{}
		for at := typed.Iterator(); at.HasNext() == types.True; {
			items = append(items, copyOf(at.Next()))
		}
		return types.NewRefValList(types.DefaultTypeAdapter, items)
	}
	return value
}

// textOf spells a value so that equal texts mean equal values of the same type.
func textOf(value ref.Val, out *strings.Builder) {
	switch typed := value.(type) {
	case *node:
		out.WriteString("node ")
		out.WriteString(strconv.Itoa(int(typed.side)))
	case types.String:
		out.WriteString(strconv.Quote(string(typed)))
	case *types.Err:
		out.WriteString("error")
	case *types.Optional:
		out.WriteString("optional(")
		if typed.HasValue() {
			textOf(typed.GetValue(), out)
		}
		out.WriteString(")")
	case traits.Mapper:
		names := []string{}
		for at := typed.Iterator(); at.HasNext() == types.True; {
			names = append(names, string(at.Next().(types.String)))
		}
		sort.Strings(names)
		out.WriteString("{")
		for _, name := range names {
			out.WriteString(strconv.Quote(name) + ":")
			textOf(typed.Get(types.String(name)), out)
			out.WriteString(",")
		}
		out.WriteString("}")
	case traits.Lister:
		out.WriteString("[")
		for at := typed.Iterator(); at.HasNext() == types.True; {
			textOf(at.Next(), out)
			out.WriteString(",")
		}
		out.WriteString("]")
	default:
		fmt.Fprintf(out, "%s(%v)", value.Type().TypeName(), value.Value())
	}
}
