import { describe, expect, it } from 'vitest';
import { DockerConfigError, parseDockerCfg, parseDockerConfigJson } from './docker-config.ts';
import { findEntries } from './keyring.ts';

const entry = (location: string) => ({ location, username: 'u', password: 'p' });
const found = (locations: string[], repository: string) =>
  findEntries(locations.map(entry), repository).map((each) => each.location);

describe('the credentials for an image', () => {
  it.each([
    ['registry:5000', 'registry:5000/a/b', true],
    ['https://registry:5000/v2/', 'registry:5000/a/b', true],
    ['http://registry:5000/v1/a', 'registry:5000/a/b', true],
    ['registry', 'registry:5000/a/b', false],
    ['registry:5001', 'registry:5000/a/b', false],
    ['quay.io/team', 'quay.io/team/app', true],
    ['quay.io/team', 'quay.io/other/app', false],
    ['*.example.com', 'registry.example.com/app', true],
    ['*.example.com', 'a.b.example.com/app', false],
    ['*.*.example.com', 'a.b.example.com/app', true],
    ['*.example.com', 'example.com/app', false],
    ['prefix*.example.com', 'prefix-1.example.com/app', true],
    ['r?.example.com', 'r1.example.com/app', true],
    ['r[1-3].example.com', 'r2.example.com/app', true],
    ['r[^1-3].example.com', 'r2.example.com/app', false],
    ['a*b*c.example.com', 'a-b-b-c.example.com/app', true],
    ['a*b*c.example.com', 'a-b-b-d.example.com/app', false],
    ['[::1]:5000', '[::1]:5000/app', true],
    ['*.example.com:8080', 'a.example.com:8080/app', true],
    ['*.example.com:8080', 'a.example.com/app', false],
    ['*.example.com/team', 'a.example.com/team/app', true],
    ['*.example.com/team', 'a.example.com/other', false],
    ['*', 'example.com/app', false],
    ['https://index.docker.io/v1/', 'docker.io/library/nginx', true],
    ['index.docker.io', 'docker.io/library/nginx', true],
    ['docker.io', 'docker.io/team/app', true],
    ['index.docker.io', 'quay.io/team/app', false],
  ])('%s are used for %s: %s', (location, repository, used) => {
    expect(found([location], repository)).toEqual(used ? [location] : []);
  });

  it('come with the longest path first, and all that match', () => {
    const locations = ['quay.io', 'other.io', 'quay.io/a/b', 'quay.io/a'];
    expect(found(locations, 'quay.io/a/b/c')).toEqual(['quay.io/a/b', 'quay.io/a', 'quay.io']);
  });

  it('of the same place stay in their order, so that both passwords of a change are tried', () => {
    const both = [
      { ...entry('quay.io'), password: 'new' },
      { ...entry('quay.io'), password: 'old' },
    ];
    expect(findEntries(both, 'quay.io/app').map(({ password }) => password)).toEqual(['new', 'old']);
  });
});

describe('a Docker configuration', () => {
  const auth = (text: string) => Buffer.from(text).toString('base64');

  it('has users and passwords in plain or in base64, of which the latter wins', () => {
    const auths = {
      plain: { username: 'ann', password: 'p:w', email: 'a@b' },
      coded: { auth: auth('bob:x:y') },
      both: { username: 'no', password: 'no', auth: auth('eve:z') },
      bare: { auth: `${auth('eve:zz').replaceAll('=', '')}\n` },
      kept: {},
    };
    const { entries } = parseDockerConfigJson(JSON.stringify({ auths }));
    expect(entries.map(({ location, username, password }) => [location, username, password])).toEqual([
      ['plain', 'ann', 'p:w'],
      ['coded', 'bob', 'x:y'],
      ['both', 'eve', 'z'],
      ['bare', 'eve', 'zz'],
    ]);
    expect(parseDockerCfg(JSON.stringify({ old: auths.plain })).entries).toHaveLength(1);
  });

  it('names tokens and the programs that keep credentials', () => {
    const config = parseDockerConfigJson(
      JSON.stringify({
        auths: { r: { auth: auth('0:'), identitytoken: 't' } },
        credsStore: 'pass',
        credHelpers: { 'gcr.io': 'gcloud' },
      }),
    );
    expect(config.entries).toEqual([{ location: 'r', username: '0', password: '', identityToken: 't' }]);
    expect(config.store).toBe('pass');
    expect(config.helpers.get('gcr.io')).toBe('gcloud');
  });

  it.each([
    '',
    'nothing secret',
    '[]',
    '"text"',
    '{"auths":[]}',
    '{"auths":{"r":"secret"}}',
    '{"auths":{"r":{"auth":"c2VjcmV0"}}}',
  ])('%j is none, and the error does not show what is in it', (text) => {
    expect(() => parseDockerConfigJson(text)).toThrow(DockerConfigError);
    expect(() => parseDockerConfigJson(text)).not.toThrow(/secret/);
  });
});
