import { readFileSync } from 'node:fs';
import { nearestWord } from '../../api/codec/nearest.ts';
import { badRequest } from '../../api/errors/index.ts';
import { type Part, type Path, parsePath, parseTemplate } from '../../api/jsonpath/parse.ts';
import type { Json } from '../../api/meta/merge-patch.ts';
import { type OutputFlags, objectOutputHelp, outputFormats } from './formats.ts';

/** What `-o` asks for. */
export type Output =
  | { readonly format: 'wide' | 'json' | 'yaml' | 'name' }
  | { readonly format: 'jsonpath'; readonly template: readonly Part[]; readonly asJson: boolean; readonly strict: boolean }
  | { readonly format: 'go-template'; readonly fill: (document: Json) => string }
  | { readonly format: 'custom-columns'; readonly columns: readonly CustomColumn[] };

/** What prints objects and not tables. */
export type ObjectOutput = Exclude<Output, { readonly format: 'wide' }> | { readonly format: 'json' | 'yaml' | 'name' };

export interface CustomColumn {
  readonly name: string;
  readonly path: Path;
}

/** Names of kubectl for the same formats. */
const aliases: Readonly<Record<string, string>> = { template: 'go-template', templatefile: 'go-template-file' };

/** Reads -o and --template; neither: wide. Throws INVALID_ARGUMENT. */
export async function parseOutput({ output = '', template, allowMissingTemplateKeys = true }: OutputFlags): Promise<Output> {
  const [, typed = '', equals, behind] = /^([^=]*)(?:(=)(.*))?$/s.exec(output) ?? [];
  if (typed === '' && template === undefined && equals === undefined) return { format: 'wide' };
  const word = typed === '' ? 'go-template' : (aliases[typed] ?? typed);
  const takes = Object.hasOwn(outputFormats, word) ? outputFormats[word as keyof typeof outputFormats] : undefined;
  if (takes === undefined || (takes === 'nothing' && equals !== undefined)) throw unknownFormat(output, typed);
  switch (word) {
    case 'wide':
    case 'json':
    case 'yaml':
    case 'name':
      if (template === undefined) return { format: word };
      throw badRequest(`--template is for -o go-template and -o jsonpath, not for -o ${word}`);
    case 'custom-columns':
      return { format: 'custom-columns', columns: parseColumns(behind ?? '') };
    case 'custom-columns-file':
      return { format: 'custom-columns', columns: parseColumnsFile(readFile(word, behind)) };
    default:
      return await parseTemplateOutput(word, behind || template, !allowMissingTemplateKeys);
  }
}

async function parseTemplateOutput(word: string, given: string | undefined, strict: boolean): Promise<Output> {
  const text = word.endsWith('-file') ? readFile(word, given) : given;
  if (!text) throw badRequest(`-o ${word} needs a template, e.g. -o ${word}='${exampleOf(word)}'`);
  if (!word.startsWith('go-template'))
    return { format: 'jsonpath', template: parseTemplate(text), asJson: word === 'jsonpath-as-json', strict };
  const { readGoTemplate } = await import('../gotemplate/index.ts');
  return { format: 'go-template', fill: readGoTemplate(text, { strict }) };
}

function exampleOf(word: string): string {
  return word.startsWith('go-template') ? '{{.metadata.name}}' : '{.metadata.name}';
}

function readFile(word: string, path: string | undefined): string {
  if (!path) throw badRequest(`-o ${word} needs a file, e.g. -o ${word}=FILE`);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw badRequest(`-o ${word}: cannot read ${path}: ${(error as Error).message}`);
  }
}

function unknownFormat(text: string, word: string): Error {
  const close = nearestWord(word, Object.keys(outputFormats));
  const advice = close && close !== text ? `did you mean "${close}"?` : `it takes wide, ${objectOutputHelp}`;
  return badRequest(`-o does not know "${text}"; ${advice}`);
}

/** "NAME:.metadata.name,IMAGE:.spec.containers[*].image"; a comma in brackets belongs to the path. */
function parseColumns(text: string): CustomColumn[] {
  const specs = text.match(/(?:\[[^\]]*\]|[^,[])+/g) ?? [];
  if (specs.length === 0) throw badRequest('-o custom-columns needs columns, e.g. -o custom-columns=NAME:.metadata.name');
  return specs.map((spec) => {
    const at = spec.indexOf(':');
    if (at < 0) throw badRequest(`"${spec}" is no column; write HEADING:.path`);
    return { name: spec.slice(0, at), path: parsePath(spec.slice(at + 1)) };
  });
}

/** A line of headings, and below it a line of paths. */
function parseColumnsFile(text: string): CustomColumn[] {
  const [names = [], paths = []] = text.split(/\r?\n/).map((line) => line.split(/\s+/).filter(Boolean));
  if (names.length === 0 || names.length !== paths.length)
    throw badRequest(
      `-o custom-columns-file needs a line of headings and below it a path for each; it has ${names.length} headings and ${paths.length} paths`,
    );
  return names.map((name, at) => ({ name, path: parsePath(paths[at]!) }));
}

/** For commands that print objects only. */
export async function parseObjectOutput(flags: OutputFlags): Promise<ObjectOutput> {
  const output = await parseOutput(flags);
  if (output.format === 'wide') throw badRequest(`-o wide is for tables; this command takes ${objectOutputHelp}`);
  return output as ObjectOutput;
}
