/** What `-o` may be, by what it takes behind "=". */
export const outputFormats = {
  wide: 'nothing',
  json: 'nothing',
  yaml: 'nothing',
  name: 'nothing',
  jsonpath: 'template',
  'jsonpath-as-json': 'template',
  'jsonpath-file': 'file',
  'go-template': 'template',
  'go-template-file': 'file',
  'custom-columns': 'columns',
  'custom-columns-file': 'file',
} as const;

/** For the help. */
export const objectOutputHelp =
  'json, yaml, name, jsonpath=TEMPLATE, jsonpath-as-json=TEMPLATE, jsonpath-file=FILE, go-template=TEMPLATE, go-template-file=FILE, custom-columns=NAME:.path,..., custom-columns-file=FILE';

export interface OutputFlags {
  readonly output?: string;
  /** The template of `-o`, or the file that holds it. */
  readonly template?: string;
  /** Whether what a template names and is not there is left out, as by default, or an error. */
  readonly allowMissingTemplateKeys?: boolean;
}
