import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { authorityHash } from '../../api/meta/authority.ts';
import { createCertificateRequest } from '../../client/certificates/certificate-request.ts';
import { loadContext } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';
import { startControllers } from './controllers-harness.ts';

// berth certs and berth certificate, in this process, with the real server.
let server: RunningServer;
let stopControllers: () => Promise<void>;
let line: CommandLine;

beforeAll(async () => {
  server = await startServer();
  stopControllers = await startControllers(server);
  line = await openCommandLine(server.admin);
}, 60_000);

afterAll(async () => {
  await line.close();
  await stopControllers();
  await server.stop();
  await server.remove();
});

const here = (...words: string[]) => line.berth('certs', ...words);
const ask = async (user: string): Promise<string> => {
  const { request } = await createCertificateRequest(user, []);
  const spec = { request: Buffer.from(request), signerName: clientSigner, usages: ['client auth'] };
  const made = await server.client.resource('CertificateSigningRequest').create({ metadata: { generateName: 'asked-' }, spec });
  return made.metadata?.name ?? '';
};

describe('berth certificate', () => {
  it('approves and denies, once', async () => {
    const [yes, no] = [await ask('anna'), await ask('bert')];
    expect((await line.berth('get', 'csr', yes)).out).toMatch(
      /NAME +AGE +SIGNERNAME +REQUESTOR +REQUESTEDDURATION +CONDITION[\s\S]*Pending/,
    );
    expect(await line.berth('certificate', 'approve', yes)).toEqual({
      code: 0,
      out: `certificatesigningrequest.certificates.k8s.io/${yes} approved\n`,
      err: '',
    });
    expect((await line.berth('certificate', 'deny', `csr/${no}`)).out).toBe(
      `certificatesigningrequest.certificates.k8s.io/${no} denied\n`,
    );
    expect((await line.berth('certificate', 'approve', yes)).out).toContain('approved already');
    const refused = await line.berth('certificate', 'approve', no, 'none', yes);
    expect(refused).toMatchObject({ code: 1, out: `certificatesigningrequest.certificates.k8s.io/${yes} approved already\n` });
    expect(refused.err).toContain(`${no}: it was denied before, which cannot be changed`);
    expect(refused.err).toMatch(/certificatesigningrequest.certificates.k8s.io\/none: .*not found/);
  });

  it('needs the right to approve for the signer', async () => {
    const name = await ask('carl');
    await line.berth(
      'create',
      'clusterrole',
      'requests',
      '--verb=get,patch,update',
      '--resource=certificatesigningrequests,certificatesigningrequests/approval',
    );
    await line.berth('create', 'clusterrolebinding', 'requests', '--clusterrole=requests', '--user=dora');
    const refused = await line.berth('certificate', 'approve', name, '--as', 'dora');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/dora.*approve.*signers/);
  });
});

describe('berth certs', () => {
  it('says what is to be said', async () => {
    expect((await here('renew')).err).toContain('say what is to be made anew');
    expect((await here('renew', 'admin', '--ca')).err).toContain('give names, or --all, or --ca');
    expect((await here('renew', 'nothing')).err).toContain(
      'no certificate "nothing" of its own: server, admin, scheduler, controllers',
    );
    expect((await here('drop-ca')).err).toContain('there is one authority only');
    expect((await here('trust')).out).toBe('context "here" has the authorities as they are\n');
  });

  it('lists, renews, and puts a new authority in the place of the old one', async () => {
    const listed = await here('list', '--data-dir', line.folder);
    expect(listed.out).toMatch(/^NAME +SUBJECT +EXPIRES +ENDS +SIGNED BY +RENEWED BY\nca +CN=berth-ca +9y/);
    expect(listed.out).toMatch(/\nserver +CN=berth +36\dd .* ca +the server\n/);
    expect(listed.out).toMatch(/\nadmin +36\dd .* ca +\d+s ago\n/);
    expect((await here('renew', '--all')).out).toBe('made anew: server, admin, scheduler, controllers\n');

    const oldHash = authorityHash(new X509Certificate(server.info.ca));
    const renewed = await here('renew', '--ca');
    expect(renewed.out).toMatch(/made anew: ca, server, admin, scheduler, controllers\ncontext "here" trusts sha256:/);
    expect(renewed.err).toContain('berth certs drop-ca');
    const { options } = await loadContext('here');
    const newHash = authorityHash(new X509Certificate(options.ca));
    expect(newHash).not.toBe(oldHash);
    const after = await here('list', '--data-dir', line.folder);
    expect(after.out).toMatch(/\nold ca +CN=berth-ca .* old ca +never: it is being replaced\n/);
    expect(after.out).toMatch(/\nadmin +36\dd .* old ca +\d+s ago\n/);
    const token = await line.berth('token', 'create', '--address', '10.0.0.5');
    expect(token.out).toContain(`--ca-hash ${newHash}`);
    const refused = await here('drop-ca');
    expect(refused.err).toMatch(/the old authority is needed still, by .*admin/);
    expect((await here('drop-ca', '--force')).out).toContain('the old authority is dropped');
    expect((await here('list', '--data-dir', line.folder)).err).toMatch(/does not count|expired|UNAUTHENTICATED|certificate/);
  });
});
