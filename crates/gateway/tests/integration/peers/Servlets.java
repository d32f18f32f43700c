// Handlers by path in Tomcat.
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

public class Servlets {
    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.SEVERE);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(arguments[0]);
        tomcat.getConnector().setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        Context context = tomcat.addContext("", null);
        for (String name : new String[] {"admin/users", "admin", "api/v1", "api", "public", "other"}) {
            Tomcat.addServlet(context, name, new Named(name));
            context.addServletMappingDecoded(name.equals("other") ? "/" : "/" + name + "/*", name);
        }
        tomcat.start();
        System.out.println(tomcat.getConnector().getLocalPort());
        while (System.in.read() >= 0) {}
        System.exit(0);
    }

    static class Named extends HttpServlet {
        private final String name;

        Named(String name) {
            this.name = name;
        }

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.setContentType("text/plain");
            response.getWriter().print("handler " + name + "\n");
        }
    }
}
