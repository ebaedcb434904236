import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ManifestDocument, parseManifests } from '../../api/codec/yaml.ts';
import { badRequest } from '../../api/errors/index.ts';
import { addDefined, knownKinds, learnKinds, namesUnknownGroup } from '../args/other-kinds.ts';
import { kustomizationFolder } from './kustomization-source.ts';

const endings = /\.(ya?ml|json)$/;
/** Far more than a person writes; a mistaken path to something huge is noticed before it is read. */
const maxFileBytes = 64 * 1024 * 1024;

export interface ManifestFlags {
  readonly filename: readonly string[];
  /** Also the folders in folders. */
  readonly recursive?: boolean | undefined;
}

/**
 * Reads the manifests behind `-f`: files, folders (their .yaml, .yml and .json files, in order of name) and "-" for
 * standard input, several with commas between them; or what `-k` builds. A source that is not there, or that holds
 * nothing, is an error of the command line: it throws before anything is done. What is wrong in a file is a failed
 * document of its own and leaves the others alone.
 */
export async function readManifests({ filename, recursive = false }: ManifestFlags): Promise<ManifestDocument[]> {
  const [folder] = filename.flatMap((source) => kustomizationFolder(source) ?? []);
  if (folder !== undefined) {
    if (filename.length > 1) throw badRequest('-k takes one folder, and no -f beside it');
    return await buildManifests(folder);
  }
  const sources = filename.flatMap((source) => (existsSync(source) ? [source] : source.split(',')));
  const files = sources.flatMap((source) => filesOf(source, recursive));
  const sourcesRead: ReadSource[] = [];
  for (const file of files) sourcesRead.push(await readFile(file));
  const documents = await readDocuments(sourcesRead);
  if (documents.length === 0) throw badRequest(`no objects found in ${files.map(nameOf).join(', ')}`);
  return documents;
}

/** The lines are those of what `berth kustomize FOLDER` prints. */
async function buildManifests(folder: string): Promise<ManifestDocument[]> {
  const { kustomizationText } = await import('../kustomize/text.ts');
  return readDocuments([{ name: `kustomize ${folder}`, text: kustomizationText(folder) }]);
}

function filesOf(source: string, recursive: boolean): string[] {
  if (source === '-') return [source];
  if (/^https?:\/\//.test(source)) throw badRequest(`cannot read ${source}: download it first; -f takes files, folders and "-"`);
  if (!isFolder(source)) return [source];
  const files = filesIn(source, recursive);
  if (files.length > 0) return files;
  const below = !recursive && filesIn(source, true).length > 0 ? '; folders in it do: add -R' : '';
  throw badRequest(`the folder ${source} holds no .yaml, .yml or .json file${below}`);
}

function filesIn(folder: string, recursive: boolean): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return recursive ? filesIn(path, true) : [];
    return endings.test(entry.name) ? [path] : [];
  });
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    throw badRequest(`cannot read ${path}: ${causeOf(error)}`);
  }
}

function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file;
}

/** A file's text, or why there is none. */
type ReadSource = { readonly name: string; readonly text: string } | { readonly failure: ManifestDocument };

/** The documents of all files, which may be of kinds that others of them define, or that the server has. */
async function readDocuments(sources: readonly ReadSource[]): Promise<ManifestDocument[]> {
  const parse = (): ManifestDocument[] =>
    sources.flatMap((source) =>
      'failure' in source ? [source.failure] : parseManifests(source.text, source.name, knownKinds()),
    );
  let documents = parse();
  const before = knownKinds();
  for (const document of documents)
    if (!('problems' in document) && document.kind.kind === 'CustomResourceDefinition') addDefined(document.object);
  if (knownKinds() !== before) documents = parse();
  const hasUnknown = documents.some((document) => 'problems' in document && document.isOfUnknownKind);
  if (!hasUnknown && !sources.some((source) => 'text' in source && namesUnknownGroup(source.text))) return documents;
  const known = knownKinds();
  await learnKinds();
  return knownKinds() === known ? documents : parse();
}

async function readFile(file: string): Promise<ReadSource> {
  const name = nameOf(file);
  const unreadable = (reason: string): ReadSource => ({
    failure: { file: name, subject: undefined, problems: [{ line: 1, path: '', reason }] },
  });
  let bytes: Buffer;
  try {
    if (file !== '-' && statSync(file).size > maxFileBytes) return unreadable('is larger than 64 MiB, too large for a manifest');
    bytes = file === '-' ? await readInput() : readFileSync(file);
  } catch (error) {
    return unreadable(`cannot be read: ${causeOf(error)}`);
  }
  const text = textOf(bytes);
  return text === undefined ? unreadable('is no text; a manifest is YAML or JSON in UTF-8') : { name, text };
}

/** Standard input to its end; a bounded piece of it. */
async function readInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxFileBytes) throw badRequest('more than 64 MiB, too much for a manifest');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** UTF-8, or UTF-16 with a mark at its start, as some Windows tools write; undefined for what is no text. */
export function textOf(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  const encoding = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them
    return /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

function causeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'no such file or folder';
  if (code === 'EACCES') return 'permission denied';
  if (code === 'EISDIR') return 'it is a folder';
  return message;
}
