import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { nearestWord } from '../../api/codec/nearest.ts';
import { parseDocuments, readDocument } from '../../api/codec/yaml-document.ts';
import { readSettings } from '../../api/codec/yaml-settings.ts';
import { badRequest } from '../../api/errors/index.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';

const fileNames = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'];
/** Far more than is written by hand. */
const maxFileBytes = 64 * 1024 * 1024;

/** The fields that a build understands. */
const fields = [
  ...['apiVersion', 'kind', 'metadata', 'resources', 'bases', 'components', 'namespace', 'namePrefix', 'nameSuffix', 'labels'],
  ...['commonLabels', 'commonAnnotations', 'images', 'replicas', 'patches', 'patchesStrategicMerge', 'patchesJson6902'],
  ...['configMapGenerator', 'secretGenerator', 'generatorOptions', 'sortOptions'],
];
/** Fields of kustomize that it refuses, with what to do instead. */
const refused: Readonly<Record<string, string>> = {
  helmCharts: 'render the chart first ("helm template NAME CHART > chart.yaml") and name the file in resources',
  helmChartInflationGenerator: 'render the chart first ("helm template NAME CHART > chart.yaml") and name the file in resources',
  helmGlobals: 'render the chart first ("helm template NAME CHART > chart.yaml") and name the file in resources',
  replacements: 'write the value with patches',
  vars: 'write the value with patches',
  generators: 'plugins are not run; name their output in resources',
  transformers: 'plugins are not run; use patches',
  validators: 'plugins are not run',
  configurations: 'the built-in fields are used; write other ones with patches',
  crds: 'the built-in fields are used; write other ones with patches',
  openapi: 'the schema is that of the kinds that Berth knows',
  buildMetadata: 'leave it out',
  imageTags: 'name them in images',
  inventory: 'prune by a set (--applyset)',
};

/** A kustomization file that was read. */
export class Kustomization {
  /** The folder that it stands in, without symbolic links: files outside of it are not read. */
  readonly root: string;
  /** The file's path, for messages. */
  readonly file: string;
  readonly isComponent: boolean;
  readonly #json: JsonObject;

  private constructor(file: string, json: JsonObject) {
    this.file = file;
    this.root = realpathSync(dirname(file));
    this.#json = json;
    this.isComponent = json.kind === 'Component';
  }

  /** Throws INVALID_ARGUMENT for a folder without a kustomization, and for what it does not understand. */
  static read(folder: string): Kustomization {
    if (isRemote(folder) && !existsSync(folder))
      throw badRequest(`${folder} is a remote kustomization, which is not fetched: download it, and name the local folder`);
    const found = fileNames.map((name) => join(folder, name)).filter((path) => existsSync(path));
    const [file, second] = found;
    if (file === undefined) throw badRequest(`${folder} holds no kustomization: expected a file ${fileNames.join(', ')}`);
    if (second !== undefined) throw badRequest(`${folder} holds several kustomizations: ${found.join(', ')}; keep one of them`);
    const json = parseFile(file, readText(file)) ?? {};
    if (!isJsonObject(json)) throw badRequest(`${file}: a kustomization is an object`);
    check(file, json);
    return new Kustomization(file, json);
  }

  refuse(why: string): Error {
    return badRequest(`${this.file}: ${why}`);
  }

  /** A field that holds one text. */
  text(name: string): string | undefined {
    return textIn(this.#json, name, (why) => this.refuse(why));
  }

  strings(name: string): string[] {
    return this.#list(name).map((item, i) => {
      if (typeof item !== 'string') throw this.refuse(`${name}[${i}]: expected a text`);
      return item;
    });
  }

  /** The items of a list of objects. */
  objects(name: string): { readonly item: JsonObject; readonly path: string }[] {
    return this.#list(name).map((item, i) => {
      if (!isJsonObject(item)) throw this.refuse(`${name}[${i}]: expected an object`);
      return { item, path: `${name}[${i}]` };
    });
  }

  /** A field that maps texts to texts; numbers and booleans are not meant as texts. */
  pairs(name: string, json: JsonObject = this.#json, path = name): Record<string, string> {
    const value = json[name] ?? {};
    if (!isJsonObject(value)) throw this.refuse(`${path}: expected an object`);
    for (const [key, each] of Object.entries(value))
      if (typeof each !== 'string') throw this.refuse(`${path}[${key}]: expected a text: put ${JSON.stringify(each)} in quotes`);
    return value as Record<string, string>;
  }

  object(name: string): JsonObject {
    const value = this.#json[name] ?? {};
    if (!isJsonObject(value)) throw this.refuse(`${name}: expected an object`);
    return value;
  }

  /** The real path of a file that it names. Throws for one outside of its folder. */
  fileAt(path: string): string {
    const real = this.pathOf(path);
    const below = relative(this.root, real);
    if (below === '..' || below.startsWith(`..${sep}`) || resolve(below) === below)
      throw this.refuse(`${path} stands outside of ${this.root}: copy the file into it, or make a kustomization of its folder`);
    return real;
  }

  /** The real path of a folder or file that it names. */
  pathOf(path: string): string {
    if (isRemote(path))
      throw this.refuse(`${path} is a remote resource, which is not fetched: download it, and name the local copy`);
    try {
      return realpathSync(resolve(this.root, path));
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file or folder' : (error as Error).message;
      throw this.refuse(`cannot read ${path}: ${why}`);
    }
  }

  #list(name: string): readonly Json[] {
    const value = this.#json[name] ?? [];
    if (!Array.isArray(value)) throw this.refuse(`${name}: expected a list`);
    return value;
  }
}

function check(file: string, json: JsonObject): void {
  const { kind, apiVersion } = json;
  if (kind !== undefined && kind !== 'Kustomization' && kind !== 'Component')
    throw badRequest(`${file}: kind: expected Kustomization or Component, found ${JSON.stringify(kind)}`);
  if (apiVersion !== undefined && !/^kustomize\.config\.k8s\.io\/v1(beta1|alpha1)?$/.test(String(apiVersion)))
    throw badRequest(`${file}: apiVersion: expected kustomize.config.k8s.io/v1beta1, found ${JSON.stringify(apiVersion)}`);
  for (const name of Object.keys(json)) {
    if (fields.includes(name)) continue;
    const instead = Object.hasOwn(refused, name) ? refused[name] : undefined;
    if (instead !== undefined) throw badRequest(`${file}: ${name} is not supported: ${instead}`);
    const close = nearestWord(name, fields);
    throw badRequest(`${file}: unknown field ${JSON.stringify(name)}${close ? `; did you mean "${close}"?` : ''}`);
  }
}

/** Refuses the members of an object that are not in the list. */
export function checkMembers(item: JsonObject, known: readonly string[], refuse: (why: string) => Error): void {
  const other = Object.keys(item).find((name) => !known.includes(name));
  if (other === undefined) return;
  const close = nearestWord(other, known);
  throw refuse(`${other} is not supported${close ? `; did you mean "${close}"?` : `: it takes ${known.join(', ')}`}`);
}

export function textIn(item: JsonObject, name: string, refuse: (why: string) => Error): string | undefined {
  const value = item[name];
  if (value === undefined || value === null) return undefined;
  // A tag as 1.25 is read as a number.
  if (typeof value === 'number') throw refuse(`${name}: expected a text: put ${value} in quotes`);
  if (typeof value !== 'string') throw refuse(`${name}: expected a text`);
  return value;
}

function isRemote(path: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/|^git@|^(www\.)?(github|gitlab|bitbucket)\.(com|org)[/:]|\?ref=|\.git(\/|$)/i.test(path);
}

/** The text of a file. Throws INVALID_ARGUMENT. */
export function readText(file: string): string {
  return readBytes(file).toString('utf8');
}

export function readBytes(file: string): Buffer {
  try {
    if (statSync(file).size > maxFileBytes) throw badRequest(`${file} is larger than 64 MiB`);
    return readFileSync(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined || typeof code !== 'string' || !code.startsWith('E')) throw error;
    throw badRequest(`cannot read ${file}: ${code === 'EISDIR' ? 'it is a folder' : message}`);
  }
}

function parseFile(file: string, text: string): unknown {
  try {
    return readSettings(text);
  } catch (error) {
    throw badRequest(`${file}: ${(error as Error).message}`);
  }
}

/** The documents of a file with several, YAML or JSON; lists are taken apart. Throws INVALID_ARGUMENT with the line. */
export function parseObjects(text: string, where: string): unknown[] {
  // As kustomize reads them; kubectl reads what it has built once more, where they are quoted.
  return parseDocuments(text, { wordsAreTexts: true }).flatMap((document): unknown[] => {
    const read = readDocument(document);
    if (read.kind === 'unreadable') {
      const [problem] = read.problems;
      throw badRequest(
        `${where}:${problem?.place.line ?? 1}: ${problem?.path ? `${problem.path}: ` : ''}${problem?.reason ?? ''}`,
      );
    }
    const { value } = read;
    if (value === null || value === undefined) return [];
    return isJsonObject(value) && String(value.kind).endsWith('List') && Array.isArray(value.items) ? value.items : [value];
  });
}
