import { afterAll, expect, it } from 'vitest';
import { commands } from '../../host/main.ts';
import { foreignSubcommand, insteadOf } from './foreign-flags.ts';
import { createCommandLine } from './program.ts';

// The command line listens to its output up to the end of its process.
afterAll(() => void process.stdout.removeAllListeners('error'));

it.each([
  ['--kubeconfig', 'BERTH_CONFIG=FILE'],
  ['--kubeconfig=x', 'BERTH_CONFIG=FILE'],
  ['-v=6', 'writes no log'],
  ['-v6', 'writes no log'],
  ['-s', 'set-cluster'],
])('says what does the work of %s', (word, text) => expect(insteadOf(word)).toContain(text));

it.each(['--namespace', '-n', '-o', '--constructor'])('says nothing of %s', (word) => expect(insteadOf(word)).toBeUndefined());

it.each([
  [['--kubeconfig', 'x', 'get', 'pods'], 'BERTH_CONFIG=FILE'],
  [['get', 'pods', '--kubeconfig=x'], 'BERTH_CONFIG=FILE'],
  [['get', 'pods', '-v=6'], 'writes no log'],
  [['get', 'pods', '--server', 'a:1'], 'set-cluster'],
  [['apply', '-f', 'x', '--force'], 'replace --force'],
  [['apply', '-f', 'x', '--validate=true'], 'leave the flag out'],
  [['apply', '-f', 'x', '--overwrite'], 'leave the flag out'],
  [['apply', '-f', 'x', '--wait'], 'rollout status'],
  [['apply', '-f', 'x', '--grace-period=0'], 'berth delete'],
  [['run', '-d', '--name', 'web', 'nginx'], 'in the background'],
  [['run', '--name', 'web', 'nginx'], 'berth run NAME --image=IMAGE'],
  [['run', 'web', '--image', 'nginx', '-p', '8080:80'], 'port-forward'],
  [['run', 'web', '--image', 'nginx', '-v', '/tmp:/x'], 'manifest'],
  [['create', '--raw', '/api/v1/namespaces', '-f', 'x'], 'kubeconfig'],
  [['get', 'pods', '--watch', '--output-watch-events'], 'kubectl get'],
])('the words %j are refused in one line', async (words, text) => {
  const written: string[] = [];
  const write = process.stderr.write;
  process.stderr.write = ((chunk: string) => written.push(chunk) > 0) as typeof write;
  try {
    await createCommandLine(commands).main(['node', 'berth', ...words]);
  } finally {
    process.stderr.write = write;
  }
  expect(process.exitCode).toBe(1);
  process.exitCode = undefined;
  expect(written.join('')).toMatch(/^error: unknown option '-\S+'; [^\n]*\n$/);
  expect(written.join('')).toContain(text);
});

it.each(['view-last-applied', 'set-last-applied', 'edit-last-applied'])('says what does the work of "apply %s"', (word) => {
  expect(foreignSubcommand(['-n', 'x', 'apply', word, 'deployment/web'])).toContain(`"berth apply ${word}" is not there; `);
  expect(foreignSubcommand(['get', word])).toBeUndefined();
  expect(foreignSubcommand(['apply', '-f', word])).toBeUndefined();
});

it.each([
  ['auth reconcile', 'kubectl auth reconcile'],
  ['set subject', 'kubectl set subject'],
])('says what does the work of "%s"', (words, text) => {
  expect(foreignSubcommand([...words.split(' '), '-f', 'x'])).toContain(`"berth ${words}" is not there; `);
  expect(foreignSubcommand(words.split(' '))).toContain(text);
  expect(foreignSubcommand([words.split(' ')[0]!])).toBeUndefined();
});

it('listens once for errors of the output, however many command lines run in one process', async () => {
  const write = process.stderr.write;
  process.stderr.write = (() => true) as typeof write;
  const run = () => createCommandLine(commands).main(['node', 'berth', 'get', 'pods', '--kubeconfig=x']);
  try {
    await run();
    const before = process.stdout.listenerCount('error');
    await run();
    expect(process.stdout.listenerCount('error')).toBe(before);
  } finally {
    process.stderr.write = write;
    process.exitCode = undefined;
  }
});
