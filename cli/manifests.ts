import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ManifestDocument, parseManifests } from '../api/codec/yaml.ts';
import { badRequest } from '../api/errors/index.ts';

const endings = /\.(ya?ml|json)$/;

/** Reads the manifests behind `-f`: files, folders (their .yaml, .yml and .json files, in order of name) and "-" for standard input. */
export function readManifests(sources: readonly string[]): ManifestDocument[] {
  const documents = sources
    .flatMap(filesOf)
    .flatMap((file) => parseManifests(readText(file), file === '-' ? 'standard input' : file));
  if (documents.length === 0) throw badRequest(`no objects found in ${sources.join(', ')}`);
  return documents;
}

function filesOf(source: string): string[] {
  if (source === '-' || !isFolder(source)) return [source];
  const files = readdirSync(source).filter((name) => endings.test(name));
  if (files.length === 0) throw badRequest(`the folder ${source} holds no .yaml, .yml or .json file`);
  return files.sort().map((name) => join(source, name));
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    throw badRequest(
      `cannot read ${path}: ${(error as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file or folder' : (error as Error).message}`,
    );
  }
}

function readText(file: string): string {
  return readFileSync(file === '-' ? 0 : file, 'utf8');
}
