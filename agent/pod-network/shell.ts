import { spawn } from 'node:child_process';

/** Runs shell scripts where the node's network is. */
export interface Shell {
  /** What the script prints. Throws an Error with what it said on its error output when it fails. */
  run(script: string): Promise<string>;
}

const patienceMs = 10_000;
const mostOutput = 16 * 1024 * 1024;

/**
 * `inside` is put in front of the shell, as `nsenter --net=/run/netns/h1` is: tests have hosts in network namespaces.
 */
export function createShell(inside: readonly string[] = []): Shell {
  const [program = '/bin/sh', ...args] = [...inside, '/bin/sh', '-ec'];
  return { run: (script) => runScript(program, [...args, script]) };
}

function runScript(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: patienceMs, killSignal: 'SIGKILL' });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (out.length < mostOutput) out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (err.length < mostOutput) err += text;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve(out);
      else if (signal !== null) reject(new Error(`the command took longer than ${patienceMs / 1000} s`));
      else reject(new Error(err.trim().split('\n').slice(0, 3).join('; ') || `the command ended with ${code}`));
    });
  });
}

/** A script that gives lines to a program's input. */
export const feed = (command: string, lines: readonly string[]): string =>
  lines.length === 0 ? ':' : `${command} <<'END'\n${lines.join('\n')}\nEND`;
