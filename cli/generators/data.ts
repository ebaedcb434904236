import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { badRequest } from '../../api/errors/index.ts';
import { parsePairs } from './pairs.ts';

/** Where the entries of a ConfigMap or Secret come from. */
export interface DataFlags {
  readonly fromLiteral?: readonly string[];
  readonly fromFile?: readonly string[];
  readonly fromEnvFile?: readonly string[];
}

/** The entries that the flags name, as bytes, in order. A key that comes twice is a mistake. */
export function readData({ fromLiteral = [], fromFile = [], fromEnvFile = [] }: DataFlags): Map<string, Buffer> {
  const data = new Map<string, Buffer>();
  const add = (key: string, value: Buffer): void => {
    if (data.has(key)) throw badRequest(`the key "${key}" is given twice`);
    data.set(key, value);
  };
  for (const [key, value] of parsePairs('--from-literal', fromLiteral)) add(key, Buffer.from(unquote(value)));
  for (const source of fromFile) for (const [key, file] of filesOf(source)) add(key, read(file));
  for (const file of fromEnvFile)
    for (const [key, value] of parseEnvFile(read(file).toString('utf8'), file)) add(key, Buffer.from(value));
  return data;
}

/** kubectl takes --from-literal=a='b' also from callers that are no shell. */
function unquote(text: string): string {
  return /^(["']).*\1$/s.test(text) && text.length > 1 ? text.slice(1, -1) : text;
}

/** "FILE", "KEY=FILE" or a folder, whose files have their names as keys. */
function filesOf(source: string): [string, string][] {
  const at = source.indexOf('=');
  if (at === 0 || at === source.length - 1) throw badRequest(`--from-file takes FILE, KEY=FILE or a folder, not "${source}"`);
  const file = source.slice(at + 1);
  if (at > 0) return [[source.slice(0, at), file]];
  if (!stat(file).isDirectory()) return [[basename(file), file]];
  return readdirSync(file)
    .sort()
    .map((name): [string, string] => [name, join(file, name)])
    .filter(([, path]) => stat(path).isFile());
}

function stat(file: string): ReturnType<typeof statSync> & object {
  try {
    return statSync(file);
  } catch (error) {
    throw cannotRead(file, error);
  }
}

/** The bytes of a file that a flag names. */
export function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw cannotRead(file, error);
  }
}

function cannotRead(file: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  return badRequest(`cannot read ${file}: ${code === 'ENOENT' ? 'no such file or folder' : message}`);
}

/** Lines KEY=VALUE; empty lines and comments are passed over, a KEY alone takes its value from the environment. */
export function parseEnvFile(text: string, file: string, environment = process.env): [string, string][] {
  return text.split(/\r?\n/).flatMap((raw, at): [string, string][] => {
    const line = raw.trimStart();
    if (line === '' || line.startsWith('#')) return [];
    const [, key, value] = /^([A-Za-z_.-][\w.-]*)(?:=(.*))?$/s.exec(line) ?? [];
    if (key === undefined) throw badRequest(`${file}:${at + 1}: expected KEY=VALUE, found "${line}"`);
    return value === undefined ? (environment[key] === undefined ? [] : [[key, environment[key]]]) : [[key, value]];
  });
}
