// Renders the chart with the default values and with everything turned on, as `helm template` does, and decodes each object strictly into
// the Kubernetes API's own types: an unknown field, a wrong type or a repeated key is an error. The chart itself is linted as by
// `helm lint --strict`: npm run check:chart
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

const chartDir = "../countersign"

func main() {
	if err := check(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check() error {
	fullest, err := chartutil.ReadValuesFile("values.yaml")
	if err != nil {
		return err
	}
	plain, err := chartutil.ReadValuesFile("values.yaml")
	if err != nil {
		return err
	}
	settings := plain["settings"].(map[string]any)
	settings["GRPC_TLS_CERT"], settings["GRPC_TLS_KEY"] = "", "" // as an overlay of values unsets them
	for name, values := range map[string]map[string]any{
		"the default values": {"issuer": "https://id.example.com"},
		"everything on":      fullest,
		"everything but TLS": plain,
	} {
		for _, message := range lint.AllWithKubeVersion(chartDir, values, "default", nil).Messages {
			if message.Severity >= support.WarningSev {
				return fmt.Errorf("lint, with %s: %v", name, message)
			}
		}
		count, err := render(values)
		if err != nil {
			return fmt.Errorf("with %s: %w", name, err)
		}
		fmt.Printf("with %s: %d objects\n", name, count)
	}
	for fault, values := range map[string]map[string]any{
		"issuer:":       {},
		"replicaCount":  {"issuer": "https://id.example.com", "replicaCount": 3},
		"settings.PORT": {"issuer": "https://id.example.com", "settings": map[string]any{"PORT": 8080}},
	} {
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), fault) {
			return fmt.Errorf("the chart has to refuse %v by %s, and said: %v", values, fault, err)
		}
	}
	return nil
}

// render decodes every object that the values make, and returns their number.
func render(values map[string]any) (int, error) {
	chart, err := loader.Load(filepath.Clean(chartDir))
	if err != nil {
		return 0, err
	}
	options := chartutil.ReleaseOptions{Name: "release", Namespace: "default", IsInstall: true, Revision: 1}
	toRender, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return 0, err
	}
	files, err := engine.Render(chart, toRender)
	if err != nil {
		return 0, err
	}
	// No cluster, no Secret: the notes name every key that it needs.
	notes := files["countersign/templates/NOTES.txt"]
	for _, key := range []string{"database_url", "token_core_secret", "jwt_private_key", "redis_url", "smtp_url"} {
		if !strings.Contains(notes, key) {
			return 0, fmt.Errorf("the notes do not name the missing key %s of the Secret: %s", key, notes)
		}
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	seen := map[string]bool{}
	for _, path := range sorted(files) {
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		for _, text := range releaseutil.SplitManifests(files[path]) {
			object, kind, err := decoder.Decode([]byte(text), nil, nil)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", path, err)
			}
			named, ok := object.(interface{ GetName() string })
			if !ok || named.GetName() == "" || seen[kind.String()+named.GetName()] {
				return 0, fmt.Errorf("%s: a %s without a name of its own", path, kind.Kind)
			}
			seen[kind.String()+named.GetName()] = true
			if deployment, ok := object.(*apps.Deployment); ok && values["settings"] != nil {
				if err := hasSettings(deployment); err != nil {
					return 0, fmt.Errorf("%s: %w", path, err)
				}
			}
			if ingress, ok := object.(*networking.Ingress); ok {
				if err := routesMetadata(ingress); err != nil {
					return 0, fmt.Errorf("%s: %w", path, err)
				}
			}
		}
	}
	return len(seen), nil
}

// hasSettings says which setting of values.yaml a pod does not have as it is written there.
func hasSettings(deployment *apps.Deployment) error {
	env := map[string]string{}
	container := deployment.Spec.Template.Spec.Containers[0]
	for _, one := range container.Env {
		if _, given := env[one.Name]; given {
			return fmt.Errorf("%s is given twice", one.Name)
		}
		env[one.Name] = one.Value
	}
	isCore := strings.HasSuffix(deployment.Name, "-core")
	tls := env["GRPC_TLS_CERT"] != ""
	for _, probe := range []*core.Probe{container.StartupProbe, container.ReadinessProbe} {
		if (probe.GRPC != nil) != (isCore && !tls) {
			return fmt.Errorf("a core is probed by gRPC unless its port has TLS, which these probes do not speak")
		}
	}
	tokenCore := "http://release-countersign-core:3001"
	if tls {
		tokenCore = "https://release-countersign-core:3001"
	}
	if isCore {
		tokenCore = ""
	}
	for name, value := range map[string]string{"REFRESH_TOKEN_TTL": "2592000", "OTEL_TRACES_SAMPLER_ARG": "0.1", "TRUST_PROXY": "false", "MIGRATE_ON_START": "true", "TOKEN_CORE_URL": tokenCore} {
		if env[name] != value {
			return fmt.Errorf("%s of the pods is %q instead of %q", name, env[name], value)
		}
	}
	for name, ofCore := range map[string]bool{"JWT_PRIVATE_KEY": true, "JWT_RETIRED_PUBLIC_KEYS": true, "VAULT_KEY_PREVIOUS": false} {
		if _, given := env[name]; given != (ofCore == isCore) {
			return fmt.Errorf("%s is given to the wrong pods", name)
		}
	}
	return nil
}

// routesMetadata says which metadata document of an issuer with a path does not reach the fronts (RFC 8414 section 3.1).
func routesMetadata(ingress *networking.Ingress) error {
	paths := map[string]bool{}
	for _, one := range ingress.Spec.Rules[0].HTTP.Paths {
		paths[one.Path] = true
	}
	for _, document := range []string{"oauth-authorization-server", "openid-configuration"} {
		if !paths["/"] && !paths["/.well-known/"+document+"/tenant"] {
			return fmt.Errorf("no path leads to the document %s", document)
		}
	}
	return nil
}

func sorted(files map[string]string) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
