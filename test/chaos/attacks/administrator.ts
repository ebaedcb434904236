import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { encodeMessage } from '../../../api/codec/message.ts';
import { message } from '../../integration/attacker.ts';

const program = fileURLToPath(new URL('administrator.js', import.meta.url));

/** A process that asks a server one question after the other. */
export interface Administrator {
  begin(): void;
  /** The times that the questions since `begin` took, in milliseconds. Rejects when one was not answered well. */
  end(): Promise<number[]>;
  close(): void;
}

/** Returns when the server has answered once. */
export async function createAdministrator(dataDir: string, address: string): Promise<Administrator> {
  const question = message(encodeMessage('berth.meta.v1.GetRequest', { name: 'default' })).toString('base64');
  const args = [program, address, dataDir, '/berth.core.v1.Namespaces/Get', question];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  // It says itself why it ends.
  child.stdin.on('error', () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const times = async (): Promise<number[]> => {
    const { value, done } = await lines.next();
    if (done) throw new Error('the administrator was not answered');
    return JSON.parse(value) as number[];
  };
  await times();
  return {
    begin: () => void child.stdin.write('begin\n'),
    async end() {
      child.stdin.write('end\n');
      return times();
    },
    close: () => void child.stdin.end(),
  };
}
