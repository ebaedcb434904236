import { posix } from 'node:path';
import { pack } from 'tar-stream';
import { createLimit } from '../../limit.ts';
import { RuntimeError } from '../runtime-error.ts';
import { ContainerProgram, type ProgramOptions } from './container-program.ts';
import { type FirstEntry, parseFirstEntry } from './tar-header.ts';

/** What `tar` is asked to pack: the last part of a path, as the engine's archives have it. */
function packing(path: string): string[] {
  const [folder, name] = path === '/' ? ['/', '.'] : [posix.dirname(path), posix.basename(path)];
  return ['tar', '-c', '-f', '-', '-C', folder, '--', name];
}

/** What a path is, a link itself; undefined when there is nothing. Looks at the beginning of what `tar` packs. */
export async function lookInContainer(path: string, options: ProgramOptions): Promise<FirstEntry | undefined> {
  const program = await ContainerProgram.start(packing(path), options, 'no-stdin');
  try {
    const entry = await readFirst(program.output());
    if (typeof entry === 'object') return entry;
    const code = await program.exitCode();
    if (code === 0) throw program.failure('gave no archive');
    if (await isThere(path, options)) throw program.failure(`ended with exit code ${code}`);
    return undefined;
  } finally {
    program.stop();
  }
}

/** Reads to the end when there is no entry, so that the exit code is available. */
async function readFirst(output: AsyncIterable<Uint8Array>): Promise<FirstEntry | undefined> {
  let bytes = Buffer.alloc(0);
  let broken = false;
  for await (const data of output) {
    if (broken) continue;
    bytes = Buffer.concat([bytes, data]);
    const entry = parseFirstEntry(bytes);
    if (typeof entry === 'object') return entry;
    broken = entry !== 'more';
  }
  return undefined;
}

/** `tar` says in words only why it fails. */
async function isThere(path: string, options: ProgramOptions): Promise<boolean> {
  const program = await ContainerProgram.start(['test', '-e', path], options, 'no-stdin');
  try {
    for await (const _ of program.output());
    return (await program.exitCode()) === 0;
  } finally {
    program.stop();
  }
}

/** Packs a path with the container's `tar`. Fails at the end when `tar` does. */
export async function* packInContainer(path: string, options: ProgramOptions): AsyncGenerator<Uint8Array> {
  const program = await ContainerProgram.start(packing(path), options, 'no-stdin');
  try {
    yield* program.output();
    await program.check();
  } finally {
    program.stop();
  }
}

/**
 * Files of the kernel have no size before they are read, and an archive needs it: so much is held for one,
 * for so many at once.
 */
const mostFileBytes = 4 * 1024 * 1024;
const filesAtOnce = 4;
const limit = createLimit(filesAtOnce);

/** An archive of a single file that is read with the container's `cat`. */
export async function* packByReading(path: string, { mode }: FirstEntry, options: ProgramOptions): AsyncGenerator<Uint8Array> {
  const content = await limit(() => readWhole(path, options));
  const archive = pack();
  archive.entry({ name: posix.basename(path), mode, mtime: new Date() }, content);
  archive.finalize();
  yield* archive as AsyncIterable<Buffer>;
}

async function readWhole(path: string, options: ProgramOptions): Promise<Buffer> {
  const program = await ContainerProgram.start(['cat', '--', path], options, 'no-stdin');
  try {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const data of program.output()) {
      pieces.push(data);
      bytes += data.length;
      if (bytes > mostFileBytes)
        throw new RuntimeError(
          'conflict',
          `${options.action}: a file without a size is copied up to ${mostFileBytes / 1024 / 1024} MiB: use "berth exec POD -- cat ${path} > FILE"`,
        );
    }
    await program.check();
    return Buffer.concat(pieces);
  } finally {
    program.stop();
  }
}

/**
 * Unpacks an archive into a folder with the container's `tar`. Returns when `tar` has ended well,
 * with everything that was sent to it.
 */
export async function unpackInContainer(
  folder: string,
  archive: AsyncIterable<Uint8Array>,
  options: ProgramOptions,
): Promise<void> {
  const program = await ContainerProgram.start(['tar', '-x', '-p', '-f', '-', '-C', folder], options, 'stdin');
  try {
    let ended = false;
    const output = drain(program).finally(() => {
      ended = true;
    });
    output.catch(() => {});
    let unread = false;
    for await (const data of archive) {
      // A tar that fails reads no further: its exit code has the reason, not the write that nothing takes.
      await Promise.race([program.write(data).catch(() => output), output]);
      unread = ended;
      if (unread) break;
    }
    await program.closeInput();
    await output;
    await program.check();
    if (unread) throw program.failure('ended before the end of what was sent');
  } finally {
    program.stop();
  }
}

async function drain(program: ContainerProgram): Promise<void> {
  for await (const _ of program.output());
}
