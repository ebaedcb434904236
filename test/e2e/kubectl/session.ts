import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { createInstallation, eventually, freePort, type Installation, type Outcome } from '../installation.ts';

/** Debian's kubectl, which hack/test puts there. */
const debian = 'dist/test-tools/kubernetes-client/usr/bin/kubectl';

/** The programs that the session is run with; `BERTH_KUBECTLS=PATH:PATH` adds others to Debian's. */
export const kubectls: readonly string[] = [debian, ...(process.env.BERTH_KUBECTLS ?? '').split(':').filter(Boolean)];

/** A command that goes on until it is stopped. */
export interface Running {
  /** Waits until its output (both streams) shows this; returns all of it. */
  until(pattern: RegExp | string): Promise<string>;
  type(text: string): void;
  /** Waits for its own end. */
  end(): Promise<Outcome>;
  stop(): Promise<void>;
}

/** kubectl in one namespace. A command is a line, split at spaces, and more words that are kept whole. */
export interface Kubectl {
  readonly namespace: string;
  readonly nodeName: string;
  /** Of the program: 20 is 1.20. */
  readonly minor: number;
  /** Runs a command with `input` as its standard input; never throws on a bad exit code. */
  run(line: string, words?: readonly string[], input?: string, environment?: NodeJS.ProcessEnv): Promise<Outcome>;
  /** The test fails unless it exits with 0; gives its standard output. */
  ok(line: string, ...words: string[]): Promise<string>;
  /** The same, with standard input. */
  pipe(input: string, line: string, ...words: string[]): Promise<string>;
  /** The test fails unless it exits with another code than 0; gives its standard error. */
  fails(line: string, ...words: string[]): Promise<string>;
  start(line: string, ...words: string[]): Running;
  /** In a pseudo-terminal of its own. */
  terminal(line: string, ...words: string[]): Running;
  /** Writes a file in a folder of the namespace's own; gives its path. */
  file(name: string, content: string): string;
}

/** What kubectl says of an object that there is not. */
export const notFound = (name: string): RegExp => new RegExp(`"${name}".* not found\\n$`);

export interface Session {
  readonly berth: Installation;
  /** In which kubectl, and each other client of Kubernetes, finds this Berth. */
  readonly environment: Readonly<Record<string, string>>;
  readonly minor: number;
  /** The first words of all commands so far, and how many they were. */
  readonly commands: ReadonlySet<string>;
  count(): number;
  /** kubectl in a namespace that it makes. */
  in(namespace: string): Promise<Kubectl>;
  close(): Promise<void>;
}

/** Ends a command that hangs: none takes as long, also on a slow machine. */
const commandHangsAfterMs = 120_000;

function begin(program: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(program, args, { env, stdio: 'pipe', timeout: commandHangsAfterMs, killSignal: 'SIGKILL' });
  const output = { stdout: '', stderr: '', both: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      output.both += text;
    });
  }
  child.stdin.on('error', () => undefined);
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout: output.stdout, stderr: output.stderr }));
  });
  return { child, output, ended };
}

function follow(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Running {
  const { child, output, ended } = begin(program, args, env);
  return {
    until: (pattern) =>
      eventually(`${String(pattern)} in the output of ${args.join(' ')}`, async () => {
        const text = output.both.replaceAll('\r', '');
        if (typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text)) return text;
        throw new Error(`it wrote ${JSON.stringify(text.slice(-500))}`);
      }),
    type: (text) => void (child as ChildProcess).stdin?.write(text),
    end: () => ended,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** The standard error without what kubectl itself warns of: its age, and how it reads the arguments. */
const failed = (line: string, { code, stdout, stderr }: Outcome): Error =>
  new Error(`kubectl ${line} ended with ${code}: ${stderr}${stdout}`);

interface Place {
  readonly program: string;
  readonly minor: number;
  readonly nodeName: string;
  readonly namespace: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Told of each command's first word. */
  readonly note: (word: string) => void;
}

function kubectlAt({ program, minor, nodeName, namespace, folder, env, note }: Place): Kubectl {
  const argsOf = (line: string, words: readonly string[]): string[] => {
    const all = [...line.split(' ').filter(Boolean), ...words];
    note(all[0] ?? '');
    const dash = all.indexOf('--');
    const own = dash === -1 ? all.length : dash;
    return [...all.slice(0, own), '--namespace', namespace, ...all.slice(own)];
  };
  const run: Kubectl['run'] = (line, words = [], input = '', environment = {}) => {
    const { child, ended } = begin(program, argsOf(line, words), { ...env, ...environment });
    child.stdin.end(input);
    return ended;
  };
  const pipe: Kubectl['pipe'] = async (input, line, ...words) => {
    const outcome = await run(line, words, input);
    if (outcome.code !== 0) throw failed(`${line} ${words.join(' ')}`, outcome);
    return outcome.stdout;
  };
  return {
    namespace,
    nodeName,
    minor,
    run,
    pipe,
    ok: (line, ...words) => pipe('', line, ...words),
    async fails(line, ...words) {
      const outcome = await run(line, words);
      expect(outcome, `kubectl ${line} ${words.join(' ')}`).not.toMatchObject({ code: 0 });
      return outcome.stderr;
    },
    start: (line, ...words) => follow(program, argsOf(line, words), env),
    terminal(line, ...words) {
      const command = [program, ...argsOf(line, words)].map(quoted).join(' ');
      return follow('script', ['-qefc', `stty cols 100 rows 30; exec ${command}`, '/dev/null'], { ...env, TERM: 'dumb' });
    },
    file(name, content) {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
  };
}

/** A Berth with one node, and kubectl with a home of its own. */
export async function openSession(program: string): Promise<Session> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-kubectl-'));
  const berth = await createInstallation('kubectl');
  const config = join(folder, 'kubeconfig');
  const env = { PATH: process.env.PATH ?? '', HOME: folder, KUBECONFIG: config, BERTH_CONFIG: berth.config };
  const address = `127.0.0.1:${await freePort()}`;
  await berth.up('--kubernetes-listen', address);
  await berth.ok('kubeconfig', '--output', config);
  const commands = new Set<string>();
  let count = 0;
  const note = (word: string): void => {
    commands.add(word);
    count += 1;
  };
  const { stdout } = await begin(program, ['version', '--client', '--output=json'], env).ended;
  const minor = Number.parseInt(JSON.parse(stdout).clientVersion.minor, 10);
  return {
    berth,
    environment: env,
    minor,
    commands,
    count: () => count,
    async in(namespace) {
      const place = { program, minor, nodeName: berth.nodeName, env, note };
      const kubectl = kubectlAt({ ...place, namespace, folder: join(folder, namespace) });
      await kubectl.ok(`create namespace ${namespace}`);
      return kubectl;
    },
    async close() {
      await berth.purge();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
