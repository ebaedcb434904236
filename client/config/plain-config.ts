/**
 * A text that means itself without quotes; `words` are those that do not.
 * Nothing that begins with a letter, or as a path, is a number or a date.
 */
const text = '[A-Za-z/](?:[\\w+/=.:[\\]-]*[\\w+/=\\]-])?';
const words = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

const list = (name: string, inner: string): string =>
  `${name}:\\n(?:  - name: ${text}\\n    ${inner}:\\n(?:      [a-z]+(?:-[a-z]+)*: ${text}\\n)+)+`;
const lists = [list('clusters', 'cluster'), list('users', 'user'), list('contexts', 'context')];
const form = new RegExp(`^(?:(?:apiVersion|kind|current-context): ${text}\\n|${lists.join('|')})+$`);
const line = /^( *)(?:- )?([A-Za-z-]+):(?: (.+))?$/;

type Fields = Record<string, unknown>;

/**
 * Reads a contexts file in the form in which Berth writes it: the same value that a reader of YAML gives, sooner than
 * one is loaded. Undefined for everything else, right or wrong: comments, quotes, another indentation, lists without
 * entries, a field that stands twice.
 */
export function readPlainConfig(content: string): Fields | undefined {
  if (!form.test(content)) return undefined;
  const file: Fields = {};
  let entries: Fields[] = [];
  let entry: Fields = {};
  let fields: Fields = {};
  for (const each of content.split('\n').slice(0, -1)) {
    const [, { length: depth } = '', name = '', value] = line.exec(each) ?? [];
    const to = depth === 0 ? file : depth === 6 ? fields : entry;
    if (value !== undefined && words.test(value)) return undefined;
    if (depth === 2) {
      entry = { name: value };
      entries.push(entry);
    } else if (Object.hasOwn(to, name)) return undefined;
    else if (value !== undefined) to[name] = value;
    else if (depth === 0) {
      entries = [];
      to[name] = entries;
    } else {
      fields = {};
      to[name] = fields;
    }
  }
  return file;
}
