import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { Script } from 'node:vm';

/** Loaded with the first file of a cache: a press of the completion key needs none. */
const crc32 = (bytes: Buffer): number => process.getBuiltinModule('node:zlib').crc32(bytes);

/** The program's exports, and what writes the compiled code that was missing. */
export interface LoadedProgram {
  readonly exports: unknown;
  /**
   * For the end of the process: functions that ran by then are compiled, and are kept with the others. Never throws.
   */
  saveCache(): void;
}

type Wrapper = (exports: unknown, require: (id: string) => unknown, module: object, file: string, folder: string) => void;

/** What the bundler named by its content: for another name the cache could be that of another build. */
const namedByContent = /-[\w-]{8}\.js$/;

/**
 * Loads the built program from a folder of CommonJS files, with the code that V8 compiled in an earlier run: compiling
 * is a third of what a short command costs. The cache stands beside the program and is written by the program's owner
 * alone: no other user could put code there, and it goes when the program goes. Others read it, or do without. V8
 * refuses code of another version of its own, but believes damaged code and dies of it: each file begins with its
 * checksum.
 */
export function loadProgram(folder: string, entry: string, uid: number | undefined = process.getuid?.()): LoadedProgram {
  const cache = join(folder, 'cache', `${process.version}-${process.arch}`);
  const modules = new Map<string, { exports: unknown }>();
  const fresh = new Map<string, Script>();
  const outside = createRequire(join(folder, entry));

  function load(file: string): unknown {
    const known = modules.get(file);
    if (known) return known.exports;
    const module = { exports: {} };
    modules.set(file, module);
    const name = basename(file);
    const cachedData = namedByContent.test(name) ? readCache(join(cache, name)) : undefined;
    const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, 'utf8')}\n})`;
    const script = new Script(source, { filename: file, cachedData });
    if (cachedData === undefined && namedByContent.test(name)) fresh.set(name, script);
    const run = script.runInThisContext() as Wrapper;
    run.call(module.exports, module.exports, require, module, file, folder);
    return module.exports;
  }

  const require = (id: string): unknown => (id.startsWith('./') ? load(join(folder, id)) : outside(id));
  return {
    exports: load(join(folder, entry)),
    saveCache() {
      try {
        if (fresh.size === 0 || statSync(folder).uid !== uid) return;
        mkdirSync(cache, { recursive: true });
        for (const [name, script] of fresh) writeCache(join(cache, name), script.createCachedData());
      } catch {
        // A file system that cannot be written: the program starts as it did before there was a cache.
      }
    },
  };
}

function readCache(file: string): Buffer | undefined {
  try {
    const bytes = readFileSync(file);
    const code = bytes.subarray(4);
    return bytes.readUInt32BE(0) === crc32(code) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** Whole or not at all, as others may be reading. */
function writeCache(file: string, code: Buffer): void {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(code));
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, Buffer.concat([sum, code]));
  renameSync(temporary, file);
}
