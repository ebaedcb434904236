import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testProgram } from '../fixtures/test-program.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// What a tenant puts into an object is printed on an administrator's terminal, by commands in a process of their own.

const hostile = 'a\u001b[2Jb\u009b31mc\u202ed\u2066e';
const forms = ['yaml', 'json', 'jsonpath={.data.x}', 'custom-columns=X:.data.x'];
let server: RunningServer;
let cli: CommandLine;

beforeAll(async () => {
  server = await startServer();
  cli = await openCommandLine(server.admin);
  await server.client.configMaps.create({ metadata: { namespace: 'default', name: 'odd' }, data: { x: hostile } });
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

/** What the commands print on a terminal. */
async function onTerminal(commands: readonly string[][]): Promise<string> {
  const words = commands.flatMap((command) => [...command, ';']);
  const program = await testProgram('test/integration/cli-process.ts');
  const line = [process.execPath, program, ...words].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const child = spawn('script', ['-qec', line, '/dev/null']);
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text));
  await once(child, 'close');
  return screen.replaceAll('\r\n', '\n');
}

it('shows control and direction characters of objects on a terminal in every form of output, and is exact elsewhere', async () => {
  const commands = forms.map((form) => ['get', 'cm', 'odd', '-o', form]);
  const screen = await onTerminal(commands);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  expect(screen).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  expect(screen.match(/<U\+202E>d<U\+2066>e/g)).toHaveLength(4);
  const exact = (await cli.berth(...commands.at(-1)!)).out;
  expect(exact).toBe(`X\n${hostile}\n`);
  expect(JSON.parse((await cli.berth(...commands[1]!)).out).data.x).toBe(hostile);
}, 60_000);
