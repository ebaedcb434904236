// Controllers that stand by for others, as a process that a test can kill:
// `node controllers-process.js DATA-DIRECTORY ADDRESS IDENTITY`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ConnectOptions, connect } from '../../client/index.ts';
import { runElected } from '../../host/processes/elected-controllers.ts';

const [dataDir = '', address = '', identity] = process.argv.slice(2);
const read = (file: string): string => readFileSync(join(dataDir, 'pki', file), 'utf8');
const connection = { address, ca: read('ca.crt'), cert: read('controllers.crt'), key: read('controllers.key') };
const open = (leaseTerm: ConnectOptions['leaseTerm']) => connect({ ...connection, leaseTerm });
await runElected({ connect: open, identity, options: {} }, new AbortController().signal);
