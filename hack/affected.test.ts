import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
// @ts-expect-error a plain script without types
import { affectedTests, dependencyGraph, repositoryGraph } from './affected.js';

const affected = (files: Record<string, string>, ...changed: string[]): string[] =>
  affectedTests(dependencyGraph(new Map(Object.entries(files)), new Map([['berth', 'client/index.ts']])), changed);

describe('the tests that a change can affect', () => {
  it.each([
    ['a static import', "import { a } from './a.ts';"],
    ['an import of types', "import type { A } from './a.ts';"],
    ['a re-export', "export * from './a.ts';"],
    ['a dynamic import', "const { a } = await import('./a.ts');"],
    ['a program that is started by its path', "const program = new URL('./a.ts', import.meta.url);"],
    ['a path from the root', "const program = inRepository('room/a.ts');"],
    ['a path behind the root in a template', `const program = \`\${root}/room/a.ts\`;`],
    ['a folder that is read', "const root = import.meta.url; readdir(join(root, 'room'));"],
  ])('follow %s, also through other modules', (_title, text) => {
    const files = {
      ...{ 'room/a.ts': '', 'room/b.ts': text, 'room/c.ts': "import './b.ts';" },
      ...{ 'room/b.test.ts': "import './b.ts';", 'test/e2e/c.test.ts': "import '../../room/c.ts';", 'room/d.test.ts': '' },
    };
    expect(affected(files, 'room/a.ts')).toEqual(['room/b.test.ts', 'test/e2e/c.test.ts']);
  });

  it('include the test that changed, and no other for that', () => {
    const files = { 'room/a.test.ts': '', 'room/b.test.ts': "const here = import.meta.url; copy('room');" };
    expect(affected(files, 'room/a.test.ts')).toEqual(['room/a.test.ts']);
  });

  it('follow the built program to its sources', () => {
    const files = {
      ...{ 'host/main.ts': "await import('../cli/get.ts');", 'cli/get.ts': '', 'hack/bundle.js': "input('host/main.ts');" },
      ...{ 'bin/berth': "#!/bin/sh\nrequire(join(__dirname, '..', 'dist', 'program', 'start.js'));" },
      ...{ 'test/e2e/a.test.ts': "run('../../bin/berth');", 'test/e2e/b.test.ts': '' },
    };
    expect(affected(files, 'cli/get.ts')).toEqual(['test/e2e/a.test.ts']);
  });

  it('find what a file needs that is gone', () => {
    const files = { 'room/a.test.ts': "const here = import.meta.url; copy('room/kinds');", 'room/kinds/b.ts': '' };
    expect(affected(files, 'room/kinds/gone.ts')).toEqual(['room/a.test.ts']);
  });

  it('take a name of the package for its sources', () => {
    const files = { 'client/index.ts': '', 'examples/a.test.ts': "import { connect } from 'berth';", 'examples/b.test.ts': '' };
    expect(affected(files, 'client/index.ts')).toEqual(['examples/a.test.ts']);
  });

  it('are all when a library or the way that tests run changes', () => {
    const files = { 'room/a.test.ts': '', 'test/chaos/b.test.ts': '' };
    expect(affected(files, 'package-lock.json')).toEqual(Object.keys(files));
    expect(affected(files, 'vitest.config.ts')).toEqual(Object.keys(files));
    expect(affected(files, 'hack/cluster')).toEqual(['test/chaos/b.test.ts']);
  });
});

describe('in this repository', () => {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const graph = repositoryGraph(root);
  const tests = (path: string): string[] => affectedTests(graph, [path]);
  const everyTest = execFileSync('git', ['ls-files', '*.test.ts'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
  const onHosts = everyTest.filter((file) => file.startsWith('test/e2e/'));

  it('a change in cli/ runs its own tests, those of the command line and e2e, and no test of the scheduler', () => {
    const found = tests('cli/printers/visible.ts');
    expect(found).toEqual(expect.arrayContaining(['cli/printers/visible.test.ts', 'test/integration/cli-get.test.ts']));
    expect(found.filter((file) => file.startsWith('test/e2e/')).length).toBeGreaterThan(onHosts.length * 0.8);
    expect(found.filter((file) => file.startsWith('scheduler/'))).toEqual([]);
  });

  it('a change in agent/ runs its own tests and e2e, and no test of the API server alone', () => {
    const found = tests('agent/pod/container-step.ts');
    expect(found).toEqual(expect.arrayContaining(['test/integration/agent-lifecycle.test.ts', 'test/e2e/walk.test.ts']));
    expect(found).not.toContain('test/integration/apiserver-crud.test.ts');
  });

  /** Names them. */
  const here = 'hack/affected.test.ts';

  it('a change of a document runs the test of documents, and those that name its folder', () => {
    expect(tests('docs/kubectl.md')).toEqual([here, 'hack/verify-docs.test.ts']);
    expect(tests('cli/README.md')).toEqual([
      here,
      'hack/kind-cost.test.ts',
      'hack/verb-cost.test.ts',
      'hack/verify-docs.test.ts',
    ]);
  });

  it('a change in proto/ runs the tests that read it and those of the commands that write it', () => {
    const found = tests('proto/berth/core/v1/pod.proto');
    expect(found).toEqual(
      expect.arrayContaining(['test/conformance/proto-verify.test.ts', 'test/integration/other-languages.test.ts']),
    );
    expect(found).not.toContain('scheduler/cache/cache.property.test.ts');
  });
});
