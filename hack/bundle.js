// The program with the libraries that it uses, in a few files, because finding and reading hundreds of them is most of
// what a short command costs. Used by hack/build and the package's test.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** dockerode can reach engines over ssh; Berth never does, and the library for that is large and partly native. */
const withoutSsh = {
  name: 'without-ssh',
  resolveId: (id) => (id === 'ssh2' ? '\0ssh2' : null),
  load: (id) => (id === '\0ssh2' ? 'module.exports = {};' : null),
};

/**
 * Short commands are tried without what the client imports while it runs: where it is needed, the whole program runs
 * them.
 */
const withoutLaterImports = {
  name: 'without-later-imports',
  resolveDynamicImport: (_id, importer) => (importer.startsWith(join(root, 'host')) ? null : '\0left-out'),
  load: (id) => (id === '\0left-out' ? "throw new Error('left to the whole program');" : null),
};

/** What the program starts as processes and threads of their own, from files beside its own. */
const besides = {
  'verify-child': 'apiserver/storage/lmdb/verify-child.ts',
  'names-worker': 'agent/names/names-worker.ts',
};

/** How the sources of all files of a program are read. */
const fromSources = (input) => ({
  cwd: root,
  input: { ...input, ...besides },
  platform: 'node',
  external: ['lmdb'], // Native.
  transform: {
    define: {
      // Native helpers that ws would look for: it does without them.
      'process.env.WS_NO_BUFFER_UTIL': '"1"',
      'process.env.WS_NO_UTF_8_VALIDATE': '"1"',
      'process.env.BERTH_BUILD': JSON.stringify(buildOf(root)),
    },
  },
  plugins: [withoutSsh],
  checks: { ineffectiveDynamicImport: false },
});

/** How all files of the program are written, see below. */
const written = { format: 'cjs', comments: { legal: true, annotation: false, jsdoc: false }, sourcemap: true };

/**
 * Writes berth.js, verify-child.js, names-worker.js and what they share into `folder`, which is emptied first, and
 * start.js and quick-HASH.js, which share nothing with them: each file costs a short command some time. What only some
 * commands need (the server, the agent) stands in files of its own, which a dynamic import loads.
 */
export async function bundleProgram(folder) {
  const bundle = await rolldown(fromSources({ berth: 'host/main.ts' }));
  // CommonJS, because Node starts it sooner than modules. All in one folder, so that what finds its neighbours by
  // import.meta.url finds them wherever it was put. Not minified, so that a stack trace can be read;
  // NODE_OPTIONS=--enable-source-maps shows the sources' lines.
  const { output } = await bundle.write({ ...written, dir: folder, cleanDir: true, chunkFileNames: '[name]-[hash].js' });
  await bundle.close();
  const [quick, ...besides] = await bundleStart(folder, { quick: 'cli/quick/print-quickly.ts' }, 'quick-[hash].js');
  const name = { 'process.env.BERTH_QUICK_FILE': JSON.stringify(quick.fileName) };
  output.push(quick, ...besides, ...(await bundleStart(folder, { start: 'host/start.ts' }, '[name].js', name)));
  for (const { fileName, code } of output) if (code !== undefined) narrow(join(folder, fileName));
  writeFileSync(join(folder, 'build-id'), `${idOf(folder, output)}\n`);
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
  writeFileSync(join(folder, 'third-party-licenses.txt'), licensesOf(output));
}

/**
 * A TypeScript program of the tests with all that it imports, in a few files: a process starts from them in a fraction
 * of the time that it takes to find and translate a thousand sources. Gives the program's file. Its folder is named
 * after its content, so that test files at the same time share it; those that no test used for a day are removed.
 */
export async function bundleTestProgram(path) {
  const name = basename(path, '.ts');
  const bundle = await rolldown(fromSources({ [name]: path }));
  // Modules, which may wait at their top level.
  const { output } = await bundle.generate({ format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
  await bundle.close();
  const hash = createHash('sha256');
  for (const { fileName, code } of output) hash.update(`${fileName}\0`).update(code);
  const prefix = join(root, 'dist', 'test-program-');
  const folder = `${prefix}${hash.digest('hex').slice(0, 16)}`;
  if (existsSync(folder)) utimesSync(folder, new Date(), new Date());
  else writeProgram(output, prefix, folder);
  return join(folder, `${name}.js`);
}

function writeProgram(output, prefix, folder) {
  mkdirSync(dirname(prefix), { recursive: true });
  removeOldPrograms(prefix);
  const made = mkdtempSync(prefix);
  for (const { fileName, code } of output) writeFileSync(join(made, fileName), code);
  writeFileSync(join(made, 'package.json'), '{ "type": "module" }\n');
  try {
    renameSync(made, folder);
  } catch (error) {
    // Another test file was quicker.
    rmSync(made, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}

function removeOldPrograms(prefix) {
  const yesterday = Date.now() - 24 * 3_600_000;
  for (const name of readdirSync(dirname(prefix))) {
    const folder = join(dirname(prefix), name);
    if (name.startsWith(basename(prefix)) && statSync(folder).mtimeMs < yesterday)
      rmSync(folder, { recursive: true, force: true });
  }
}

async function bundleStart(folder, input, entryFileNames, define = {}) {
  const bundle = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    transform: { define: { 'process.env.BERTH_BUILD': JSON.stringify(buildOf(root)), ...define } },
    plugins: [withoutLaterImports],
  });
  const { output } = await bundle.write({
    ...written,
    dir: folder,
    entryFileNames,
    chunkFileNames: `${Object.keys(input)[0]}-[name].js`,
  });
  await bundle.close();
  return output;
}

/** By which `berth up --upgrade` tells builds of one version from each other: a hash of all that the program is. */
function idOf(folder, output) {
  const hash = createHash('sha256');
  const names = output.filter(({ code }) => code !== undefined).map(({ fileName }) => fileName);
  for (const name of names.sort()) hash.update(`${name}\0`).update(readFileSync(join(folder, name)));
  return hash.digest('hex').slice(0, 16);
}

/**
 * V8 keeps the text of what it runs, and one character beyond Latin-1 makes all of a file's text twice as large in
 * memory: such characters are written as their code. Lines stay as the source maps have them.
 */
function narrow(file) {
  const code = readFileSync(file, 'utf8');
  // A code behind a backslash, or where backslashes are plain text, would not mean the same.
  if (/\\[\u0100-\uffff]|String\.raw`[^`]*[\u0100-\uffff]/.test(code))
    throw new Error(`${file}: a character beyond Latin-1 cannot be written as its code`);
  const narrowed = code.replace(/[\u0100-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  if (narrowed !== code) writeFileSync(file, narrowed);
}

/**
 * "COMMIT DATE clean|dirty" of the sources, by which /version tells one build from another; empty where git knows none.
 */
export function buildOf(folder) {
  const git = (...args) =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    // Sources that were unpacked into the repository of something else have no commit.
    if (git('rev-parse', '--show-toplevel') !== folder) return '';
    const state = git('status', '--porcelain') === '' ? 'clean' : 'dirty';
    const date = new Date(git('show', '-s', '--format=%cI')).toISOString().replace('.000Z', 'Z');
    return [git('rev-parse', 'HEAD'), date, state].join(' ');
  } catch {
    return '';
  }
}

/** The licences of the libraries in the program, which ask to go with it. */
function licensesOf(chunks) {
  const folders = new Set(chunks.flatMap((chunk) => Object.keys(chunk.modules ?? {})).flatMap((id) => packageFolder(id) ?? []));
  const packagesOf = new Map();
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file));
    const text = files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n');
    packagesOf.set(text, [...(packagesOf.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const parts = [...packagesOf].map(([text, packages]) => [packages.join('\n'), text].filter(Boolean).join('\n\n'));
  return parts.join(`\n\n${'-'.repeat(80)}\n\n`);
}

/** The innermost package that a module belongs to. */
function packageFolder(id) {
  const folder = id.match(/^.*\/node_modules\/(@[^/]+\/)?[^/]+/)?.[0];
  return folder !== undefined && existsSync(join(folder, 'package.json')) ? folder : undefined;
}
