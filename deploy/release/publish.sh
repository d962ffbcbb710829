#!/bin/sh
# publish.sh DIR: publishes the files that `npm run release` left in DIR, under the name that install.yaml gives the image.
# Pushes the image and the charts, signs them and the checksums, and attests what the image of each platform is made of.
# Prints their names and digests, as outputs of a step of a workflow. Needs crane, which is logged in, and cosign.
set -eu
cd "$1"
sha256sum --check --quiet SHA256SUMS >&2
version=$(basename rollcall-[0-9]*.tgz .tgz | cut -d - -f 2-)
wanted=$(sed -n 's/^ *image: //p' install.yaml | sort -u)
image=${wanted%@*}
chart=${image%/rollcall}/charts/rollcall
crd_chart=$chart-crds

pushed=$(crane push oci "$image:$version")
if [ "$pushed" != "$wanted" ]; then
  echo "The chart and the manifests name $wanted, but $pushed was pushed" >&2
  exit 1
fi
pushed_chart=$(crane push chart "$chart:$version")
pushed_crd_chart=$(crane push chart-crds "$crd_chart:$version")
for subject in "$pushed" "$pushed_chart" "$pushed_crd_chart"; do
  # Recursively, so that a client that pulls one platform by its own digest finds a signature as well.
  cosign sign --yes --recursive "$subject" >&2
done
for sbom in rollcall-*.spdx.json; do
  platform=${sbom#"rollcall-$version-linux-"}
  digest=$(crane digest --platform "linux/${platform%.spdx.json}" "$pushed")
  cosign attest --yes --type=spdxjson --predicate="$sbom" "$image@$digest" >&2
done
cosign sign-blob --yes --bundle=SHA256SUMS.sigstore.json SHA256SUMS >&2

echo "image-name=$image"
echo "image-digest=${pushed#*@}"
echo "chart-name=$chart"
echo "chart-digest=${pushed_chart#*@}"
echo "crd-chart-name=$crd_chart"
echo "crd-chart-digest=${pushed_crd_chart#*@}"
