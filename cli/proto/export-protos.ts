import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withoutOptional } from './without-optional.ts';

/** Where this package keeps the API's definition. */
const protoFolder = fileURLToPath(new URL('../../proto/', import.meta.url));

export interface ExportOptions {
  /** See `withoutOptional`. */
  readonly withoutOptional: boolean;
}

/**
 * Writes every .proto file below `folder`, over what an earlier export wrote; gives their paths below it,
 * sorted. Throws what says why.
 */
export async function exportProtos(folder: string, options: ExportOptions): Promise<string[]> {
  try {
    return await copyProtos(folder, options);
  } catch (error) {
    throw new Error(`cannot write the files below ${folder}: ${(error as Error).message}`, { cause: error });
  }
}

async function copyProtos(folder: string, options: ExportOptions): Promise<string[]> {
  const files = (await readdir(protoFolder, { recursive: true })).filter((file) => file.endsWith('.proto')).sort();
  for (const file of files) {
    const source = await readFile(join(protoFolder, file), 'utf8');
    const path = join(folder, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, options.withoutOptional ? withoutOptional(source) : source);
  }
  return files;
}
