/**
 * What CHANGELOG.md has about a version, without its heading; `Unreleased` is one, too.
 * @throws where it has nothing about it.
 */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((each) => each.split(/[\s\n]/, 1)[0]?.replace(/[[\]]/g, '') === version);
  const notes = section?.slice(section.indexOf('\n')).trim() ?? '';
  if (notes === '') throw new Error(`CHANGELOG.md has nothing about ${version}: name the section "## ${version}"`);
  return `${notes}\n`;
}
