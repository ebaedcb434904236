import { expect, it } from 'vitest';
import { run } from '../installation.ts';
import type { Kubectl } from './session.ts';

/** `auth` and `certificate`. */
export function rights(into: (namespace: string) => Promise<Kubectl>): void {
  it('auth can-i tells what a user, a group and an account may do', async () => {
    const k = await into('rights');
    await k.ok('create role read --verb=get,list,watch --resource=pods,pods/log');
    await k.ok('create rolebinding read --role=read --user=ann --group=team --serviceaccount=rights:default');
    expect(await k.run('auth can-i get pods --as=ann')).toMatchObject({ code: 0, stdout: 'yes\n' });
    expect(await k.run('auth can-i get pods --subresource=log --as=ann')).toMatchObject({ code: 0, stdout: 'yes\n' });
    const no = await k.run('auth can-i delete pods --as=ann');
    expect({ ...no, stdout: no.stdout.split(/ - |\n/)[0] }).toMatchObject({ code: 1, stdout: 'no' });
    expect(await k.run('auth can-i list pods --as=bob --as-group=team')).toMatchObject({ code: 0 });
    expect(await k.run('auth can-i list pods --as=system:serviceaccount:rights:default -q')).toMatchObject({
      code: 0,
      stdout: '',
    });
    expect(await k.run('auth can-i get /healthz --as=ann')).toMatchObject({ code: 0 });
    expect((await k.run('auth can-i', ['*', '*', '-A'])).stdout).toBe('yes\n');
    const list = await k.ok('auth can-i --list --as=ann');
    expect(list).toMatch(/^Resources +Non-Resource URLs +Resource Names +Verbs *\n/);
    expect(list).toMatch(/\npods +\[\] +\[\] +\[get list watch\]\n/);
    expect(await k.ok('get pods -o name --as=ann')).toBe('');
    expect(await k.fails('get secrets --as=ann')).toMatch(
      /^Error from server \(Forbidden\): .*[Uu]ser "ann" cannot list .*secrets.* in the namespace "rights"/,
    );
    expect(await k.fails('delete pod x --as=ann')).toMatch(/\(Forbidden\): .*[Uu]ser "ann" cannot delete .*pods?/);
    if (k.minor >= 28)
      expect(await k.ok('auth whoami --as=ann --as-group=team')).toMatch(
        /Username +ann\nGroups +\[team system:authenticated\]\n/,
      );
  });

  it('auth reconcile makes roles and bindings be what a file says', async () => {
    const k = await into('reconcile');
    const role = (verbs: string[]): string =>
      JSON.stringify({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'r', namespace: k.namespace },
        rules: [{ apiGroups: [''], resources: ['pods'], verbs }],
      });
    expect(await k.pipe(role(['get']), 'auth reconcile -f -')).toMatch(/role\.rbac\.authorization\.k8s\.io\/r reconciled\n/);
    await k.pipe(role(['list']), 'auth reconcile -f -');
    const verbs = '-o=jsonpath={.rules[*].verbs[*]}';
    expect((await k.ok('get role r', verbs)).split(' ').sort()).toEqual(['get', 'list']);
    await k.pipe(role(['list']), 'auth reconcile --remove-extra-permissions -f -');
    expect(await k.ok('get role r', verbs)).toBe('list');
  });

  it('certificate approve and deny decide over requests', async () => {
    const k = await into('certificates');
    const names = ['kubectl-good', 'kubectl-bad'];
    for (const name of names) {
      const made = ['-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null'];
      const { stdout } = await run('openssl', ['req', ...made, '-subj', `/CN=${name}`]);
      const request = {
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name },
        spec: {
          request: Buffer.from(stdout).toString('base64'),
          signerName: 'kubernetes.io/kube-apiserver-client',
          usages: ['client auth'],
        },
      };
      expect(await k.pipe(JSON.stringify(request), 'create -f -')).toBe(
        `certificatesigningrequest.certificates.k8s.io/${name} created\n`,
      );
    }
    expect(await k.ok('get csr kubectl-good')).toMatch(
      /\nkubectl-good +\d+s +kubernetes\.io\/kube-apiserver-client +.*Pending\n/,
    );
    expect(await k.ok('certificate approve kubectl-good')).toBe(
      'certificatesigningrequest.certificates.k8s.io/kubectl-good approved\n',
    );
    expect(await k.ok('certificate deny kubectl-bad')).toBe('certificatesigningrequest.certificates.k8s.io/kubectl-bad denied\n');
    expect(await k.ok('get csr kubectl-bad')).toMatch(/Denied\n/);
    expect(await k.fails('certificate approve kubectl-bad')).toMatch(/[Dd]enied/);
    const issued = k.start('get csr kubectl-good --watch');
    await issued.until(/Approved,Issued\n/);
    await issued.stop();
    const certificate = Buffer.from(await k.ok('get csr kubectl-good -o', 'jsonpath={.status.certificate}'), 'base64').toString();
    const shown = await run('openssl', ['x509', '-noout', '-subject'], undefined, certificate);
    expect(shown.stdout).toMatch(/CN ?= ?kubectl-good/);
    expect(await k.ok('describe csr kubectl-good')).toMatch(/Status: +Approved,Issued\n/);
    await k.ok(`delete csr ${names.join(' ')}`);
  });
}
