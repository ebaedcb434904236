import { nearestWord } from '../../api/codec/nearest.ts';
import { badRequest } from '../../api/errors/index.ts';
import { type Part, type Path, parsePath, parseTemplate } from '../jsonpath/parse.ts';

/** What `-o` asks for. */
export type Output =
  | { readonly format: 'wide' | 'json' | 'yaml' | 'name' }
  | { readonly format: 'jsonpath'; readonly template: readonly Part[] }
  | { readonly format: 'custom-columns'; readonly columns: readonly CustomColumn[] };

/** What prints objects and not tables. */
export type ObjectOutput = Exclude<Output, { readonly format: 'wide' }> | { readonly format: 'json' | 'yaml' | 'name' };

export interface CustomColumn {
  readonly name: string;
  readonly path: Path;
}

const formats = ['wide', 'json', 'yaml', 'name', 'jsonpath', 'custom-columns'] as const;

/** For the help. */
export const outputHelp = 'json, yaml, name, jsonpath=TEMPLATE, custom-columns=NAME:.path,...';

/** Reads the value of `-o`. */
export function parseOutput(text: string): Output {
  const [, word = '', , rest = ''] = /^([^=]*)(=(.*))?$/s.exec(text) ?? [];
  switch (word) {
    case 'wide':
    case 'json':
    case 'yaml':
    case 'name':
      if (text !== word) break;
      return { format: word };
    case 'jsonpath':
      if (rest === '') throw badRequest("-o jsonpath needs a template, e.g. -o jsonpath='{.metadata.name}'");
      return { format: 'jsonpath', template: parseTemplate(rest) };
    case 'custom-columns':
      return { format: 'custom-columns', columns: parseColumns(rest) };
  }
  const close = nearestWord(word, formats);
  throw badRequest(
    `-o does not know "${text}"; ${close && close !== text ? `did you mean "${close}"?` : `it takes wide, ${outputHelp}`}`,
  );
}

/** "NAME:.metadata.name,IMAGE:.spec.containers[*].image"; a comma in brackets belongs to the path. */
function parseColumns(text: string): CustomColumn[] {
  const specs = text.match(/(?:\[[^\]]*\]|[^,[])+/g) ?? [];
  if (specs.length === 0) throw badRequest('-o custom-columns needs columns, e.g. -o custom-columns=NAME:.metadata.name');
  return specs.map((spec) => {
    const at = spec.indexOf(':');
    if (at <= 0) throw badRequest(`"${spec}" is no column; write HEADING:.path`);
    return { name: spec.slice(0, at), path: parsePath(spec.slice(at + 1)) };
  });
}

/** For commands that print objects only. */
export function parseObjectOutput(text: string): ObjectOutput {
  const output = parseOutput(text);
  if (output.format === 'wide') throw badRequest(`-o wide is for tables; this command takes ${outputHelp}`);
  return output as ObjectOutput;
}
