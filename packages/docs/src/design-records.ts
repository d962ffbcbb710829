import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PAGES } from './navigation.ts';

const FOLDER = 'design';

/** The sections of a record, in their order. */
export const SECTIONS = ['Context', 'Choice', 'Alternatives', 'Consequence', 'Tests'] as const;

/** One decision about the design, as its page has it. */
type DesignRecord = {
  /** The name of the file, `NNNN-words.md`. */
  file: string;
  title: string;
  /** When the decision was made, as `YYYY-MM-DD`. */
  date: string;
  /** The text of each section, by its heading, in the order of the page. */
  sections: ReadonlyMap<string, string>;
};

/** Reads every record, in the order of their numbers. Throws where a page has no title or no date. */
export function designRecords(): DesignRecord[] {
  return readdirSync(path.join(PAGES, FOLDER))
    .filter((file) => file !== 'index.md')
    .toSorted()
    .map(recordOf);
}

function recordOf(file: string): DesignRecord {
  const [head = '', ...parts] = readFileSync(path.join(PAGES, FOLDER, file), 'utf8').split(/^## /m);
  const found = /^# (?<title>.+)\n\n(?<date>\d{4}-\d\d-\d\d)\n\n$/.exec(head)?.groups;
  if (!found) throw new Error(`${FOLDER}/${file} does not begin with "# TITLE", an empty line and "YYYY-MM-DD"`);
  const sections = parts.map((part): [string, string] => {
    const end = part.indexOf('\n');
    return [part.slice(0, end), part.slice(end).trim()];
  });
  return { file, title: found['title'] ?? '', date: found['date'] ?? '', sections: new Map(sections) };
}
