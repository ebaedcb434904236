// Which test files a change can affect, for `hack/test --changed`: `node hack/affected.js COMMIT` prints "PROJECT FILE"
// of each. A test depends on what it imports, and on what it starts or reads: a text in it that is the path of a file
// or folder of the repository counts as an import, so that it also finds programs, protos, documents and examples.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** What every test depends on: how tests run, and the libraries. */
const ofAll = /^(vitest\.config\.ts|tsconfig\.json|package(-lock)?\.json|test\/leftovers\.ts)$/;
/** What each e2e and chaos test runs on, beside what it names itself. */
const ofHosts = /^hack\/(test|cluster|build|images|lib\.sh|run-files\.js|run-on-host\.js)$/;
/** It looks at all documents, those of rooms too. */
const ofDocuments = 'hack/verify-docs.test.ts';
const isTest = (name) => name.endsWith('.test.ts');
const isOnHosts = (file) => /^test\/(e2e|chaos)\//.test(file);

/** The project that a test file belongs to. */
export function projectOf(file) {
  const [, project] = /^test\/(conformance|integration|e2e|chaos)\//.exec(file) ?? [];
  return project ?? 'unit';
}

const isCode = (name, text) =>
  (/\.(ts|js|mjs)$/.test(name) || text.startsWith('#!/usr/bin/env node')) && !name.startsWith('api/generated/comments');

/** What a file depends on: names of files, and folders with a slash at the end. */
function dependencies(name, text, { files, folders, packages }) {
  const found = new Set();
  // What starts the built program depends on what the bundler makes it of.
  if (/\bdist['"`,\s/]+program\b/.test(text) && files.has('hack/bundle.js')) found.add('hack/bundle.js');
  if (!isCode(name, text)) return name.startsWith('bin/') ? found : new Set();
  const here = posix.dirname(name);
  for (const { fileName: path } of ts.preProcessFile(text, true, true).importedFiles) {
    const target = packages.get(path) ?? (path.startsWith('.') ? posix.join(here, path) : undefined);
    if (target !== undefined && files.has(target)) found.add(target);
  }
  // Only what knows its own place finds others from there; elsewhere a bare word like "agent" is no folder.
  const knowsItsPlace = text.includes('import.meta.url') || text.includes('inRepository');
  for (const [, path] of text.matchAll(/['"`](?:\$\{\w+\}\/)?([\w@.][\w@./-]*)['"`]/g)) {
    if (/^[./]*$/.test(path) || (!path.includes('/') && !knowsItsPlace)) continue;
    for (const target of [posix.join(here, path), posix.normalize(path)].map((each) => each.replace(/\/$/, ''))) {
      if (files.has(target)) found.add(target);
      else if (folders.has(target)) found.add(`${target}/`);
    }
  }
  found.delete(name);
  return found;
}

/**
 * Who depends on what among `files`, a map of name to text; `packages` says which module a bare import means. Keys of
 * `dependents` are as `dependencies` gives them.
 */
export function dependencyGraph(files, packages = new Map()) {
  const folders = new Set();
  for (const name of files.keys())
    for (let folder = posix.dirname(name); folder !== '.'; folder = posix.dirname(folder)) folders.add(folder);
  const dependents = new Map();
  for (const [name, text] of files)
    for (const target of dependencies(name, text, { files, folders, packages }))
      dependents.set(target, [...(dependents.get(target) ?? []), name]);
  return { tests: [...files.keys()].filter(isTest).sort(), dependents };
}

/** The test files of a graph that changes of the files `changed` can affect, sorted. */
export function affectedTests({ tests, dependents }, changed) {
  if (changed.some((name) => ofAll.test(name))) return tests;
  const reached = new Set(changed);
  // A folder that is named is copied or read: nothing depends on the tests in it.
  for (const name of changed.filter((each) => !isTest(each)))
    for (let folder = posix.dirname(name); folder !== '.'; folder = posix.dirname(folder))
      for (const dependent of dependents.get(`${folder}/`) ?? []) reached.add(dependent);
  if (changed.some((name) => name.endsWith('.md'))) reached.add(ofDocuments);
  for (const name of reached) for (const dependent of dependents.get(name) ?? []) reached.add(dependent);
  const hosts = changed.some((name) => ofHosts.test(name));
  return tests.filter((name) => reached.has(name) || (hosts && isOnHosts(name)));
}

/** The graph of the repository at `root`. */
export function repositoryGraph(root) {
  const isText = (name) => !/\.(binpb|svg)$/.test(name) && existsSync(join(root, name)) && statSync(join(root, name)).isFile();
  const names = git(root, 'ls-files', '-co', '--exclude-standard').filter(isText);
  const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  // What `import ... from 'berth'` means in this repository.
  const sources = Object.entries(exports).map(([path, { 'berth-source': source }]) => [
    posix.join(name, path),
    posix.normalize(source),
  ]);
  return dependencyGraph(new Map(names.map((each) => [each, readFileSync(join(root, each), 'utf8')])), new Map(sources));
}

const git = (root, ...args) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 })
    .split('\n')
    .filter(Boolean);

const [program, commit] = process.argv.slice(1);
if (program === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(program));
  const changed = git(root, 'diff', '--name-only', '--no-renames', commit, '--');
  const files = affectedTests(repositoryGraph(root), [...changed, ...git(root, 'ls-files', '-o', '--exclude-standard')]);
  for (const file of files) console.log(`${projectOf(file)} ${file}`);
}
