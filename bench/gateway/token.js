// Verifies a token (HS256) of Authorization, for auth_request of nginx.
import crypto from 'crypto';

function verify(request) {
  request.return(isValid(request) ? 204 : 401);
}

function isValid(request) {
  const field = request.headersIn.Authorization;
  if (!field || !field.startsWith('Bearer ')) {
    return false;
  }
  const parts = field.slice(7).split('.');
  if (parts.length !== 3) {
    return false;
  }
  const hmac = crypto.createHmac('sha256', request.variables.token_secret);
  if (hmac.update(`${parts[0]}.${parts[1]}`).digest('base64url') !== parts[2]) {
    return false;
  }
  const decode = (part) => JSON.parse(Buffer.from(part, 'base64url').toString());
  const claims = decode(parts[1]);
  return decode(parts[0]).alg === 'HS256'
    && claims.iss === 'https://login.example'
    && claims.aud === 'api'
    && claims.exp > Date.now() / 1000;
}

export default { verify };
