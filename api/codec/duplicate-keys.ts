/** More would say nothing new. */
const MOST = 100;
/** What stands between the tokens of JSON, and the tokens. */
const TOKEN = /[\s,]*(?:([{}[\]])|("(?:[^"\\]|\\.)*")|[^\s,{}[\]":]+|(:))/gy;

/**
 * The members that objects of a JSON text have twice, as "spec.containers[0].name", once each. The text must be valid,
 * and `value` what it was parsed to: JSON.parse takes the last of several, without a word.
 */
export function findDuplicates(text: string, value: unknown): string[] {
  // Most texts have none, and counting costs a tenth of a walk. A text within a text may only count too much.
  const colons = text.match(/"\s*:/g)?.length ?? 0;
  return colons === memberCount(value) ? [] : walk(text);
}

function memberCount(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, item: unknown) => sum + memberCount(item), 0);
  let count = 0;
  for (const key in value) count += 1 + memberCount((value as Record<string, unknown>)[key]);
  return count;
}

/** An object or a list that the walk stands in. */
interface Level {
  /** Of an object. */
  readonly keys: Set<string> | undefined;
  readonly path: string;
  key: string;
  /** Of a list: the place of the next item. */
  index: number;
}

function walk(text: string): string[] {
  const found = new Set<string>();
  const levels: Level[] = [];
  const pathHere = (): string => {
    const at = levels.at(-1);
    if (at === undefined) return '';
    if (at.keys === undefined) return `${at.path}[${at.index++}]`;
    return at.path === '' ? at.key : `${at.path}.${at.key}`;
  };
  let last = '';
  TOKEN.lastIndex = 0;
  for (let token = TOKEN.exec(text); token !== null && found.size < MOST; token = TOKEN.exec(text)) {
    const [, bracket, quoted, colon] = token;
    if (bracket === '{' || bracket === '[')
      levels.push({ keys: bracket === '{' ? new Set() : undefined, path: pathHere(), key: '', index: 0 });
    else if (bracket !== undefined) levels.pop();
    else if (colon !== undefined) noteKey(levels.at(-1), last, found);
    else if (quoted !== undefined) last = quoted;
    if (bracket === undefined && colon === undefined && levels.at(-1)?.keys === undefined) pathHere();
  }
  return [...found];
}

function noteKey(level: Level | undefined, quoted: string, found: Set<string>): void {
  if (level?.keys === undefined) return;
  const key = JSON.parse(quoted) as string;
  level.key = key;
  if (level.keys.has(key)) found.add(level.path === '' ? key : `${level.path}.${key}`);
  level.keys.add(key);
}
